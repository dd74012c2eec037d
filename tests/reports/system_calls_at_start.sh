#!/bin/bash
# Filters and profiles that let programs start with loam need to know what it asks for.
# Expected: no system call and no file more than docs/sandboxes.md names.
# packages: strace
# builds: fast checking hardened linked
loam=${1:?the library, or the object}
page=$(dirname "$0")/../../docs/sandboxes.md
command -v strace >/dev/null || exit 77
work=$(mktemp -d)
trap 'rm -r "$work"' EXIT

# traced NAME COMMAND...: the names of calls and the paths
traced() {
  strace -o "$work/trace" "${@:2}" || exit 77
  grep -oP '^\w+(?=\()' "$work/trace" | sort -u >"$work/$1.calls"
  grep -oP '^openat\([^"]*"\K[^"]+' "$work/trace" | sort -u >"$work/$1.files"
}
if [ "$LOAM_TEST_BUILD" = linked ]; then
  echo 'int main(void) { return 0; }' >"$work/nothing.c"
  gcc "$work/nothing.c" -o "$work/nothing" && gcc "$loam" "$work/nothing.c" -o "$work/on_loam" || exit 1
  traced without "$work/nothing"
  traced with "$work/on_loam"
  cmp -s "$work/without.calls" "$work/with.calls" && { echo "loam did not start"; exit 1; }
else
  traced without /bin/true
  traced with -E "LD_PRELOAD=$loam" /bin/true
  grep -q "$loam" "$work/with.files" || { echo "loam was not loaded"; exit 1; }
fi

{ sed -n '/<!-- calls at start -->/{n;p}' "$page" | grep -oP '\w+'
  sed -n '/^## Once/,/^## At/s/^| \(`.*`\) |.*/\1/p' "$page" | grep -oP '(?<=`)\w+(?=`)'
} | sort -u >"$work/named.calls"
{ sed -n '/<!-- files at start -->/,/^A privileged/p' "$page" | grep -oP '^\| `\K[^`]+'
} | sed 's/[.]/[.]/g; s/[*][*]/.*/; s/^/^/; s/$/$/' >"$work/named.files"

more_calls=$(comm -13 "$work/without.calls" "$work/with.calls" | comm -23 - "$work/named.calls")
more_files=$(comm -13 "$work/without.files" "$work/with.files" | grep -vxF "$loam" |
             grep -v -f "$work/named.files")
[ -z "$more_calls$more_files" ] && exit
echo "not in docs/sandboxes.md:" $more_calls $more_files
exit 1
