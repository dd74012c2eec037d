#!/bin/bash
# Whoever looks at /proc/PID/smaps or a map of a process does not know which memory is the
# allocator's. Expected: mappings have names where the kernel has such; at start by default, all of
# them with names=on, none with names=off. The kernel's answer is made up, as not all know names.
# packages: strace
# builds: fast checking linked
loam=${1:?the library, or the object}
command -v strace >/dev/null || exit 77
work=$(mktemp -d)
trap 'rm -r "$work"' EXIT
cat >"$work/grows.c" <<'C'
#include <stdlib.h>
#include <string.h>
int main(void) {
  for (int i = 0; i < 40; i++) *(char volatile *)malloc(8 << 20) = 1; /* regions */
  for (int i = 0; i < 3; i++) *(char volatile *)malloc(100 << 20) = 1;
}
C
object='' preloaded=$loam
[ "$LOAM_TEST_BUILD" = linked ] && object=$loam preloaded=''
gcc -O0 -fno-builtin $object "$work/grows.c" -o "$work/grows" || exit 1

# names OPTION: how often each name was given
names() {
  strace -o "$work/trace" -e trace=prctl -e inject=prctl:retval=0 -E "LD_PRELOAD=$preloaded" \
    -E "LOAM_OPTIONS=names=$1" "$work/grows" || exit 77
  for name in blocks huge records; do grep -c "0x53564d41.*\"loam:$name\"\|PR_SET_VMA.*\"loam:$name\"" "$work/trace"; done
}
read -rd '' blocks huge records < <(names start)
[ "$blocks $huge" = "1 0" ] && [ "$records" -ge 1 ] || { echo "start: $blocks $huge $records"; exit 1; }
read -rd '' blocks huge records < <(names on)
[ "$blocks" -ge 4 ] && [ "$huge" -ge 3 ] && [ "$records" -ge 1 ] ||
  { echo "on: $blocks $huge $records"; exit 1; }
read -rd '' blocks huge records < <(names off)
[ "$blocks $huge $records" = "0 0 0" ] || { echo "off: $blocks $huge $records"; exit 1; }
