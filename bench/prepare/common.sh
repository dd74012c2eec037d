# What the scripts here share; to be sourced with the folder to make as $1. They do their work in
# $part, which becomes $folder when all is done: an interrupted one starts again.
set -u
[ $# = 1 ] || { echo "usage: $0 FOLDER" >&2; exit 64; }

here=$(cd "$(dirname "$0")" && pwd)
. "$here/../packages.sh"

say() { echo "$*" >&2; }

# fail TEXT: why it cannot be had, as the last line.
fail() {
    say "$(basename "$0" .sh): $*"
    exit 1
}

# packages NAME...: installed, or this is the end. What apt says is for those who watch.
packages() {
    for package; do
        need_package "$package" >&2 || fail "needs the package $package: apt-get install $package"
    done
}

finish() { mv "$part" "$folder" || fail "cannot rename $part"; }

mkdir -p "$(dirname "$1")" || fail "cannot make $1"
folder=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
part=$folder.part
[ -e "$folder" ] && { say "$folder is there already"; exit 0; }
rm -rf "$part" && mkdir "$part" || fail "cannot make $part"
