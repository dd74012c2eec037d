#!/bin/sh
# Gets the other allocators to compare with, as libraries to preload, into build/peers.
#
#   bench/peers.sh [--all] [NAME...]
#
# Versions are pinned below. What is there already is left alone; each peer succeeds or fails on
# its own, with one line. --all adds the two that take minutes to build: jemalloc531 and tcmalloc.
# The exit status is the number of peers that are missing.
set -u

MIMALLOC3_VERSION=3.4.3         # Python package cmeel-mimalloc
SNMALLOC_VERSION=0.7.6          # crate snmalloc-sys
RPMALLOC_VERSION=0.2.3          # crate rpmalloc-sys, which carries rpmalloc 1.4
JEMALLOC_CRATE_VERSION=0.7.1    # crate tikv-jemalloc-sys
TCMALLOC_CRATE_VERSION=0.1.14   # crate libtcmalloc-sys

DEFAULT_PEERS="mimalloc3 snmalloc rpmalloc jemalloc gperftools tbb mimalloc2"
SLOW_PEERS="jemalloc531 tcmalloc"

root=$(cd "$(dirname "$0")/.." && pwd)
out=$root/build/peers
scratch=$out/scratch
log_dir=$out/logs
jobs=$(nproc 2>/dev/null || echo 2)
mkdir -p "$out" "$scratch" "$log_dir"

# need COMMAND PACKAGE: the command is there, or is installed when we are root.
need() {
    command -v "$1" >/dev/null 2>&1 || need_package "$2"
}

apt_install() {
    DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "$1"
}

need_package() {
    dpkg -s "$1" >/dev/null 2>&1 && return 0
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
        apt_install "$1" && return 0
        apt-get update -q && apt_install "$1" && return 0
    fi
    echo "needs the package $1: apt-get install $1"
    return 1
}

# from_debian NAME PACKAGE FILE: a link to a library of the distribution.
from_debian() {
    need_package "$2" || return 1
    library=$(dpkg -L "$2" | grep "/$3\$" | head -n 1)
    [ -n "$library" ] || { echo "package $2 has no $3"; return 1; }
    dpkg-query -W -f '${Version}' "$2" >"$out/$1.version"
    ln -sf "$library" "$out/$1.so"
}

# crate NAME VERSION: unpacks the crate and what it depends on; prints the crate's folder.
crate() {
    need cargo cargo >&2 || return 1
    folder=$scratch/$1
    if [ ! -d "$folder/vendor/$1" ]; then
        mkdir -p "$folder/src" && : >"$folder/src/lib.rs"
        printf '[package]\nname = "scratch"\nversion = "0.0.0"\nedition = "2021"\n[workspace]\n' \
            >"$folder/Cargo.toml"
        printf '[dependencies]\n%s = "=%s"\n' "$1" "$2" >>"$folder/Cargo.toml"
        (cd "$folder" && cargo vendor -q vendor >/dev/null) || return 1
    fi
    echo "$folder/vendor/$1"
}

get_mimalloc3() {
    need python3 python3 && need unzip unzip || return 1
    python3 -m pip --version >/dev/null 2>&1 || need_package python3-pip || return 1
    python3 -m pip download -q --no-deps -d "$scratch" "cmeel-mimalloc==$MIMALLOC3_VERSION" \
        || return 1
    unzip -p "$scratch"/cmeel_mimalloc-"$MIMALLOC3_VERSION"*.whl '*/libmimalloc.so' \
        >"$out/mimalloc3.so.part" && mv "$out/mimalloc3.so.part" "$out/mimalloc3.so" || return 1
    echo "$MIMALLOC3_VERSION" >"$out/mimalloc3.version"
}

get_snmalloc() {
    need g++ g++ || return 1
    dir=$(crate snmalloc-sys "$SNMALLOC_VERSION") || return 1
    override=$dir/upstream/src/snmalloc/override
    g++ -std=c++20 -O3 -DNDEBUG -fPIC -shared -pthread -mcx16 -fvisibility=hidden \
        -fno-rtti -fomit-frame-pointer -ftls-model=initial-exec -mprfchw \
        -DSNMALLOC_USE_WAIT_ON_ADDRESS=1 -DSNMALLOC_USE_CXX11_THREAD_ATEXIT_DIRECT \
        '-DSNMALLOC_EXPORT=__attribute__((visibility("default")))' \
        -I"$dir/upstream/src" "$override/malloc.cc" "$override/new.cc" \
        -o "$out/snmalloc.so.part" -latomic && mv "$out/snmalloc.so.part" "$out/snmalloc.so" \
        || return 1
    echo "$SNMALLOC_VERSION" >"$out/snmalloc.version"
}

get_rpmalloc() {
    need gcc gcc || return 1
    dir=$(crate rpmalloc-sys "$RPMALLOC_VERSION") || return 1
    gcc -std=gnu11 -O3 -DNDEBUG -fPIC -shared -pthread -fvisibility=hidden \
        -ftls-model=initial-exec -fno-builtin-malloc -D_GNU_SOURCE=1 \
        -DENABLE_OVERRIDE=1 -DENABLE_PRELOAD=1 \
        "$dir/rpmalloc/rpmalloc/rpmalloc.c" -o "$out/rpmalloc.so.part" -ldl \
        && mv "$out/rpmalloc.so.part" "$out/rpmalloc.so" || return 1
    echo "$RPMALLOC_VERSION (1.4)" >"$out/rpmalloc.version"
}

get_jemalloc() { from_debian jemalloc libjemalloc2 libjemalloc.so.2; }
get_gperftools() { from_debian gperftools libtcmalloc-minimal4 libtcmalloc_minimal.so.4; }
get_mimalloc2() { from_debian mimalloc2 libmimalloc2.0 libmimalloc.so.2; }

get_tbb() {
    need_package libtbbmalloc2 || return 1   # the proxy opens libtbbmalloc.so.2 by itself
    from_debian tbb libtbbmalloc2 libtbbmalloc_proxy.so.2
}

get_jemalloc531() {
    need gcc gcc && need make make || return 1
    dir=$(crate tikv-jemalloc-sys "$JEMALLOC_CRATE_VERSION") || return 1
    build=$scratch/jemalloc531-build
    rm -rf "$build" && cp -R "$dir/jemalloc" "$build" && cp "$dir/configure/configure" "$build/" \
        || return 1
    (cd "$build" && sh ./configure --disable-cxx --with-version=5.3.1-0-g0 \
        && make -j"$jobs" build_lib_shared) || return 1
    cp "$build/lib/libjemalloc.so.2" "$out/jemalloc531.so" || return 1
    echo "5.3.1" >"$out/jemalloc531.version"
}

# The crate's build script names the sources; its own bridge is left out, and tcmalloc.cc, which
# defines malloc itself, comes in.
get_tcmalloc() {
    need g++ g++ || return 1
    dir=$(crate libtcmalloc-sys "$TCMALLOC_CRATE_VERSION") || return 1
    objects=$scratch/tcmalloc-objects
    rm -rf "$objects" && mkdir -p "$objects" || return 1
    sources=$(grep -o '"c_src/[^"]*\.\(cc\|S\)"' "$dir/build.rs" | tr -d '"' | grep -v bridge)
    flags="-std=c++17 -O2 -DNDEBUG -fPIC -pthread -w -I$dir/c_src/abseil-cpp -I$dir/c_src/tcmalloc"
    for source in $sources c_src/tcmalloc/tcmalloc/tcmalloc.cc; do
        echo "$flags -DTCMALLOC_INTERNAL_8K_PAGES -c $dir/$source" \
            "-o $objects/$(echo "$source" | tr / _).o"
    done | xargs -P "$jobs" -L 1 nice g++ || return 1
    g++ -shared -pthread -Wl,-z,now "$objects"/*.o -o "$out/tcmalloc.so" || return 1
    echo "$TCMALLOC_CRATE_VERSION (crate)" >"$out/tcmalloc.version"
}

# report NAME: one line, name, version and path, or why it is missing.
report() {
    name=$1
    if [ ! -e "$out/$name.so" ] && ! "get_$name" >"$log_dir/$name" 2>&1; then
        echo "$name: missing: $(tail -n 1 "$log_dir/$name") (all of it: $log_dir/$name)"
        return 1
    fi
    printf '%-12s %-22s %s\n' "$name" "$(cat "$out/$name.version")" "$out/$name.so"
}

peers=
for argument; do
    case $argument in
    --all) peers="$peers $DEFAULT_PEERS $SLOW_PEERS" ;;
    -h | --help) sed -n '2,/^set/s/^# \{0,1\}//p' "$0"; exit 0 ;;
    *) command -v "get_$argument" >/dev/null || { echo "unknown peer: $argument"; exit 64; }
       peers="$peers $argument" ;;
    esac
done

missing=0
for peer in ${peers:-$DEFAULT_PEERS}; do
    report "$peer" || missing=$((missing + 1))
done
exit "$missing"
