#!/usr/bin/env bash
# What `make test` calls: installs what the tests need, builds, runs ctest and cargo test.
# Arguments go to ctest: tests/run-all.sh -R misuse
# TIMES=1 in the environment: at the end, what each folder of tests costs.
set -euo pipefail
cd "$(dirname "$0")/.."
jobs=$(nproc 2> /dev/null || echo 2)
failures=()

missing_packages() {
  local package
  while read -r package _; do
    [[ $package == '#'* || -z $package ]] && continue
    [[ $(dpkg-query -W -f '${Status}' "$package" 2> /dev/null) == 'install ok installed' ]] ||
      echo "$package"
  done < tests/packages.txt
}

install_packages() {
  local missing
  mapfile -t missing < <(missing_packages)
  ((${#missing[@]} == 0)) && return
  if ! command -v apt-get > /dev/null || ((EUID != 0)); then
    echo "tests: missing Debian packages (tests/packages.txt says what for): ${missing[*]}" >&2
    exit 1
  fi
  echo "tests: installing ${missing[*]}"
  apt-get update -qq
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" \
    > /tmp/loam-tests-apt.log 2>&1 || { tail -20 /tmp/loam-tests-apt.log >&2; exit 1; }
}

# Into the build folder: the machine's own Python stays as it is.
install_python_packages() {
  local wanted
  wanted=$(sed -E '/^(#|$)/d; s/ .*//' tests/python-packages.txt)
  [[ $(cat build/python/installed 2> /dev/null) == "$wanted" ]] && return
  echo "tests: installing" $wanted
  rm -rf build/python
  # shellcheck disable=SC2086 # one word for each
  python3 -m pip install --quiet --root-user-action ignore --target build/python $wanted
  echo "$wanted" > build/python/installed
}

# Tests use small time limits: nothing of the caller's may change what malloc does.
unset LD_PRELOAD LOAM_OPTIONS LOAM_TEST_ANY PYTHONMALLOC MALLOC_ARENA_MAX

install_packages
mkdir -p build
install_python_packages
cmake -S . -B build/tests -G Ninja -DLOAM_BUILD_TESTS=ON > build/configure-tests.log 2>&1 ||
  { cat build/configure-tests.log; exit 1; }
cmake --build build/tests --parallel "$jobs"

if [[ -f Cargo.toml ]]; then
  make --no-print-directory cli || failures+=("make cli")
fi

# One more at a time than there are processors: many of them sleep. What is measured rather than
# tested has a target of its own.
(($# > 0)) || set -- -LE measured
results=build/tests/results.txt
ctest --test-dir build/tests --output-on-failure -j$((jobs + 1)) "$@" | tee "$results" ||
  failures+=("ctest")

if [[ $* != '-LE measured' ]]; then
  : # a part of the tests was asked for
elif [[ ! -f Cargo.toml ]]; then
  failures+=("cargo test: there is no Cargo.toml, so the command has NOT been tested")
elif ! command -v cargo > /dev/null; then
  failures+=("cargo test: there is no cargo; install Rust, see README")
else
  cargo test --release || failures+=("cargo test")
fi

[[ -z ${TIMES:-} ]] || tests/results.py --times "$results"
tests/results.py --skipped "$results" build/tests/Testing/Temporary/LastTest.log
for failure in "${failures[@]}"; do
  echo "tests: FAILED: $failure" >&2
done
exit $((${#failures[@]} > 0))
