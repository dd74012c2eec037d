#!/usr/bin/env bash
# long_part.sh BUILD: in six turns, one after the other, each test of `make test-long` is run once.
set -euo pipefail
tests=$(dirname "$0")/..
# Of a copy of the lists, since ctest writes over its log even where it only lists.
lists=$(mktemp -d)
trap 'rm -rf "$lists"' EXIT
(cd "$1" && find . -name CTestTestfile.cmake -exec cp --parents {} "$lists" \;)
names=$(for turn in 7 8 9 10 11 12; do "$tests/long-part.sh" "$lists" "$turn"; done | sort)
labelled=$(ctest --test-dir "$lists" --show-only=json-v1 | python3 -c '
import json, sys
for test in json.load(sys.stdin)["tests"]:
    if {"name": "LABELS", "value": ["long"]} in test["properties"]: print(test["name"])' | sort)
[[ $names == "$labelled" ]] || { printf '%s\n--- but\n%s\n' "$names" "$labelled"; exit 1; }
