#!/bin/sh
# Memory over a long time: tests/soak/run.sh MINUTES [LIBRARY]. The library is build/lib/libloam.so
# (make lib) if none is named.
set -eu
cd "$(dirname "$0")/../.."
[ $# -ge 1 ] || { sed -n 's/^# \{0,1\}//p' "$0" | sed -n 2,3p >&2; exit 2; }
program=build/soak
"${CC:-cc}" -g -O1 -fno-builtin -std=gnu11 -w -Itests -Iinclude tests/soak/memory_stays_flat.c \
  -Wl,-z,dynamic-undefined-weak -pthread -o "$program"
LD_PRELOAD=$(realpath -s "${2:-build/lib/libloam.so}") exec "$program" $(($1 * 60))
