#!/usr/bin/env bash
# long_part.sh BUILD: with as many turns as there are tests of `make test-long`, each has its turn.
set -euo pipefail
tests=$(dirname "$0")/..
read -r _ _ count <<< "$("$tests/long-part.sh" "$1" 0)"
turns=$(for ((turn = 7; turn < count + 7; turn++)); do "$tests/long-part.sh" "$1" "$turn"; done)
names=$(cut -d ' ' -f 1 <<< "$turns" | sort -u)
labelled=$(ctest --test-dir "$1" --show-only=json-v1 | python3 -c '
import json, sys
for test in json.load(sys.stdin)["tests"]:
    if {"name": "LABELS", "value": ["long"]} in test["properties"]: print(test["name"])' | sort)
[[ -n $names && $names == "$labelled" ]] || { printf '%s\n--- but\n%s\n' "$names" "$labelled"; exit 1; }
