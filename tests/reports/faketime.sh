#!/bin/bash
# libfaketime and loam preloaded together ended with a false double free: its clock_gettime allocates
# when it is first called, and loam read its clock by that name in the midst of its own work.
# Expected, in both orders and for all kinds of shifted time: programs with and without threads end,
# see the shifted day, and memory goes back by the real clock.
# packages: faketime
# builds: fast checking hardened linked
loam=${1:?the library, or the object}
memory=${2:?the program that waits for its memory to go back}
folder=$(dirname "$(find /usr/lib -name libfaketimeMT.so.1 -print -quit 2>/dev/null)")
[ "$folder" != . ] || exit 77
failed=0

# check WHAT EXPECTED COMMAND...
check() {
  local got
  got=$(timeout -s KILL 20 "${@:3}" 2>&1 | tail -1)
  [ "$got" = "$2" ] && return
  echo "$1: got \"$got\", expected \"$2\""
  failed=1
}

threads='
import datetime, threading, time
def work():
    for _ in range(5):
        [bytes(n) for n in range(0, 20000, 7)]
        time.sleep(.02)
threads = [threading.Thread(target=work) for _ in range(8)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
print(datetime.date.today())'

if [ "$LOAM_TEST_BUILD" = linked ]; then
  work=$(mktemp -d)
  trap 'rm -r "$work"' EXIT
  tests=$(dirname "$0")/..
  gcc -O1 -w -fno-builtin -I"$tests" -I"$tests/../include" "$loam" \
    "$tests/reports/helpers/memory_goes_back.c" -o "$work/memory" || exit 1
  for fake in libfaketime.so.1 libfaketimeMT.so.1; do
    for options in "" background=on guard_ms=10; do
      check "memory $options $fake" "went back" env FAKETIME='2020-01-01 00:00:00' \
        LOAM_OPTIONS="$options" LD_PRELOAD="$folder/$fake" "$work/memory"
    done
  done
  exit $failed
fi

for fake in libfaketime.so.1 libfaketimeMT.so.1; do
  for preload in "$loam:$folder/$fake" "$folder/$fake:$loam"; do
    for options in "" background=on guard_ms=10; do
      for shift in '-15d' '2020-01-01 00:00:00' '@2020-01-01 00:00:00 x10' '+2d x0.5'; do
        expected=$(env FAKETIME="$shift" LD_PRELOAD="$folder/$fake" date +%F)
        set -- env FAKETIME="$shift" LOAM_OPTIONS="$options" LD_PRELOAD="$preload"
        check "date $shift $options $preload" "$expected" "$@" date +%F
      done
      check "threads $options $preload" "$expected" "$@" python3 -c "$threads"
      set -- env FAKETIME='2020-01-01 00:00:00' LOAM_OPTIONS="$options" LD_PRELOAD="$preload"
      check "memory $options $preload" "went back" "$@" "$memory"
    done
  done
done
exit $failed
