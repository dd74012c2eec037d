#!/usr/bin/env bash
# For a run that has not the time for all of `make test-long`: the names of the tests whose turn it
# is. With each commit, and with each day, it is others'.
#   tests/long-part.sh BUILD [TURN]
set -euo pipefail
parts=6
turn=${2:-$(($(git rev-list --count HEAD) + $(date +%s) / 86400))}
# Without what they require, as fixtures are listed with them.
tests=$(ctest --test-dir "$1" -N -L long -FA . | sed -n 's/^ *Test *#[0-9]*: //p')
[[ -n $tests ]] || { echo "$0: no test of $1 has the label long" >&2; exit 1; }
awk -v at=$((turn % parts)) -v parts=$parts 'NR % parts == at' <<< "$tests"
