#!/usr/bin/env bash
# For a run that has not the time for all of `make test-long`: the name of the test whose turn it is,
# which it is, and of how many. With each commit, and with each day, it is another.
#   tests/long-part.sh BUILD [TURN]
set -euo pipefail
# Without what they require, as fixtures are listed with them.
mapfile -t tests < <(ctest --test-dir "$1" -N -L long -FA . |
  sed -n 's/^ *Test *#[0-9]*: //p')
count=${#tests[@]}
((count > 0)) || { echo "$0: no test of $1 has the label long" >&2; exit 1; }
turn=${2:-$(($(git rev-list --count HEAD) + $(date +%s) / 86400))}
at=$((turn % count))
echo "${tests[at]} $((at + 1)) $count"
