#!/bin/bash
# Filters and profiles that let programs start with loam need to know what it asks for.
# Expected: no system call and no file more than docs/sandboxes.md names.
# packages: strace
library=${1:?the library}
page=$(dirname "$0")/../../docs/sandboxes.md
command -v strace >/dev/null || exit 77
work=$(mktemp -d)
trap 'rm -r "$work"' EXIT

# traced NAME [VARIABLE=VALUE]: the names of calls and the paths, of a program that does nothing
traced() {
  strace -o "$work/trace" ${2:+-E "$2"} /bin/true || exit 77
  grep -oP '^\w+(?=\()' "$work/trace" | sort -u >"$work/$1.calls"
  grep -oP '^openat\([^"]*"\K[^"]+' "$work/trace" | sort -u >"$work/$1.files"
}
traced without
traced with "LD_PRELOAD=$library"
grep -q "$library" "$work/with.files" || { echo "loam was not loaded"; exit 1; }

{ sed -n '/<!-- calls at start -->/{n;p}' "$page" | grep -oP '\w+'
  sed -n '/^## Once/,/^## At/s/^| \(`.*`\) |.*/\1/p' "$page" | grep -oP '(?<=`)\w+(?=`)'
} | sort -u >"$work/named.calls"
{ sed -n '/<!-- files at start -->/,/^A privileged/p' "$page" | grep -oP '^\| `\K[^`]+'
} | sed 's/[.]/[.]/g; s/[*][*]/.*/; s/^/^/; s/$/$/' >"$work/named.files"

more_calls=$(comm -13 "$work/without.calls" "$work/with.calls" | comm -23 - "$work/named.calls")
more_files=$(comm -13 "$work/without.files" "$work/with.files" | grep -vxF "$library" |
             grep -v -f "$work/named.files")
[ -z "$more_calls$more_files" ] && exit
echo "not in docs/sandboxes.md:" $more_calls $more_files
exit 1
