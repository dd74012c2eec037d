#!/usr/bin/env bash
# Builds the distribution's Redis with the patch and has it defragment: what is live is what it has
# in memory then. Exit status 77 where the source is not to be had.
#     check.sh LIBLOAM.A
set -euo pipefail
library=$(realpath "${1:?libloam.a}")
here=$(realpath "$(dirname "$0")")
work=$(mktemp -d)
trap 'rm -r "$work"' EXIT
cd "$work"
mkdir -p prefix/lib
cp "$library" prefix/lib/libloam.a
cp -r "$here/../../include" prefix

cat >redis.sources <<'END'
Types: deb-src
URIs: http://deb.debian.org/debian
Suites: bookworm
Components: main
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg
END
mkdir -p state/lists/partial
options=(-qq -o "Dir::Etc::sourcelist=$work/redis.sources" -o Dir::Etc::sourceparts=-
         -o "Dir::State::lists=$work/state/lists")
apt-get "${options[@]}" update >&2 && apt-get "${options[@]}" source --download-only redis >&2 ||
  { echo "the source of redis is not to be had"; exit 77; }
tar xf redis_7.0.*.orig.tar.*
cd redis-7.0.*/
tar xf ../redis_7.0.*.debian.tar.*
grep -v '^#' debian/patches/series | while read -r name; do patch -sp1 <"debian/patches/$name"; done
patch -sp1 <"$here/redis-7.0.patch"
make -j"$(nproc)" MALLOC=loam "LOAM_PREFIX=$work/prefix" USE_SYSTEMD=no redis-server >"$work/log" 2>&1 ||
  { tail -20 "$work/log"; exit 1; }
python3 "$here/defrag.py" src/redis-server 100 | tee "$work/measured"
python3 - "$work/measured" <<'END'
import json, sys
measured = json.load(open(sys.argv[1]))
assert measured["allocator"].startswith("loam-"), measured
assert measured["before_mib"] > 1.8 * measured["live_mib"], "there was nothing to do"
assert measured["after_mib"] < 1.3 * measured["live_mib"] + 12, "it has not come together"
END
