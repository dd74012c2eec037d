# Python's own tests of `re`, on malloc instead of Python's arenas. What fails without loam as
# well is compared like the rest.
PYTHONMALLOC=malloc /usr/bin/python3 -m test -v test_re > log 2>&1 || true
grep -E ' \.\.\. (ok|FAIL|ERROR|skipped|expected failure)' log | sed 's/0x[0-9a-f]*//' | sort > results
test "$(grep -c ' ok$' results)" -gt 50 || { tail -30 log >&2; exit 1; }
cat results
