#!/bin/sh
# Searches all interleavings of a model, in the sizes below, and then each of its mutants, in which
# an error must be found. Usage: check.sh MODEL.pml [long]: with `long` only in the sizes that take
# long. Ends with 77 where spin is not installed.
set -eu
model=$(realpath "$1")
kind=${2:+$2 }
level=-O0 # to compile takes longer than to search
test -z "$kind" || level=-O2
command -v spin >/dev/null && command -v gcc >/dev/null || exit 77
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

# search NAME DEFINITIONS...: leaves what the search printed in NAME.txt
search() {
  name=$1
  shift
  spin -a "$@" "$model" >"$name.spin" 2>&1 || { cat "$name.spin"; exit 1; }
  # Safety only: assertions, and end states in which somebody still waits.
  gcc "$level" -w -DSAFETY -DCOLLAPSE -DMEMLIM=3000 -o "$name" pan.c
  "./$name" -m1000000 >"$name.txt" 2>&1 || true
}

# How many states the search went through.
states() { sed -n 's/^ *\([0-9.e+]*\) states, stored.*/\1/p' "$1.txt"; }

failed=0
sizes=$(sed -n "s|^ \\* *${kind}size: *||p" "$model")
test -n "$sizes" || { echo "$model: no line '${kind}size: ...'"; exit 1; }
echo "$sizes" | while read -r size; do
  # shellcheck disable=SC2086
  search model $size
  if grep -q 'errors: 0$' model.txt && ! grep -q -e 'out of memory' -e 'max search depth too small' \
      -e 'Search not completed' -e 'memory limit' model.txt; then
    echo "ok   $size: $(states model) states"
  else
    echo "FAIL $size:"
    cat model.txt
    exit 1
  fi
done || failed=1

test -z "$kind" || exit $failed
for mutant in $(sed -n 's/^ \* *mutant: *\([A-Z_]*\).*/\1/p' "$model"); do
  search mutant "-D$mutant"
  if grep -q 'errors: [1-9]' mutant.txt; then
    echo "ok   $mutant is found: $(grep -m1 '^pan:' mutant.txt)"
  else
    echo "FAIL $mutant is not found"
    failed=1
  fi
done
exit $failed
