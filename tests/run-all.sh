#!/usr/bin/env bash
# What `make test` calls: installs what the tests need, builds, and runs ctest, cargo's tests among it.
# Arguments go to ctest: tests/run-all.sh -R misuse
# TIMES=1 in the environment: at the end, what each part of the run and each folder of tests costs.
set -euo pipefail
cd "$(dirname "$0")/.."

# LD_PRELOAD cannot hold a path with a blank or a colon: from a checkout that has one in its path, the
# tests go through a link, which has the same name each time, as CMake's cache wants it.
if [[ $PWD == *[[:space:]:]* ]]; then
  link=/tmp/loam-checkout-$EUID-$(printf %s "$PWD" | cksum | cut -d ' ' -f 1)
  mkdir -p -m 700 "$link"
  [[ -O $link && ! -L $link ]] || { echo "tests: $link is somebody else's" >&2; exit 1; }
  ln -sfn "$PWD" "$link/loam"
  exec "$link/loam/tests/run-all.sh" "$@"
fi
# wine takes several for each thread of a process, more than the 1,024 that a session has.
files=$(ulimit -Hn)
[[ $files != unlimited && $files -lt 20000 ]] || files=20000
ulimit -Sn "$files"
jobs=$(nproc 2> /dev/null || echo 2)
failures=()

missing_packages() {
  local package
  for package in "$@"; do
    [[ $(dpkg-query -W -f '${Status}' "$package" 2> /dev/null) == 'install ok installed' ]] ||
      echo "$package"
  done
}

install_packages() {
  local missing
  mapfile -t missing < <(missing_packages "$@")
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

# Of the real programs among the tests that ctest's arguments choose.
packages_of_tests() {
  local script
  ctest --test-dir build/tests -N "$@" | sed -n 's/^ *Test *#[0-9]*: programs\.//p' |
    while read -r script; do
      [[ $script == selftest ]] || sed -n 's/^# packages: //p' "tests/programs/${script%.long}".*
    done
}

# Debian's Python before others: what a manager of versions puts into its place is a script, which takes ten
# times as long to start, and hundreds of tests start it.
choose_python() {
  [[ -x /usr/bin/python3 ]] || return 0
  mkdir -p build/tools
  ln -sfn /usr/bin/python3 build/tools/python3
  PATH=$PWD/build/tools:$PATH
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

# Clippy's compiler, if it is there and as new as the other: it compiles the same, which takes no longer,
# and warns of what clippy does.
clippys_compiler() {
  [[ $(clippy-driver --rustc --version 2> /dev/null) != "$(rustc --version)" ]] || echo clippy-driver
}

# What of the command the tests need, as one compilation: its own tests, which build/cli-tests names,
# and the command.
compile_command() {
  local compiler
  compiler=$(clippys_compiler)
  [[ -n $compiler ]] || echo "tests: no clippy of this Rust: it does not look at the command" >&2
  RUSTC_WORKSPACE_WRAPPER=$compiler cargo test --profile tests --locked --quiet --no-run --message-format=json-render-diagnostics \
    > build/cargo-tests.json 2> build/cargo-tests.log || return 1
  rm -rf build/cli-tests
  mkdir -p build/bin build/cli-tests
  python3 tests/cargo_programs.py build/cli-tests < build/cargo-tests.json
  install -m 755 "${CARGO_TARGET_DIR:-target}/tests/loam" build/bin/loam
}

# What each part of the run takes, in seconds by the clock and of processors: a line in PHASES.
end_of() {
  times > build/times
  echo "$1 $SECONDS $(sed -n 2p build/times)" >> "$phases"
}

mkdir -p build
phases=build/phases.txt
: > "$phases"
results=build/tests/results.txt

# The packages are awaited rather than worked for: the command is compiled meanwhile, where there is
# a linker already.
missing_rust=$(scripts/missing-rust.sh) || failures+=("the command has NOT been tested: $missing_rust")
compiling=
if [[ -z $missing_rust ]] && command -v cc > /dev/null; then
  compile_command &
  compiling=$!
fi
# shellcheck disable=SC2046 # one word for each
install_packages $(sed -E '/^(#|$)/d; s/ .*//' tests/packages.txt)
if [[ -z $missing_rust && -z $compiling ]]; then
  compile_command &
  compiling=$!
fi
choose_python
install_python_packages
end_of install
cmake -S "$PWD" -B "$PWD/build/tests" -G Ninja -DLOAM_BUILD_TESTS=ON -DLOAM_TWIN=ON \
  > build/configure-tests.log 2>&1 ||
  { cat build/configure-tests.log; exit 1; }
end_of configure
# What is measured rather than tested has a target of its own, and so has what takes long.
targets=(all long_tests)
(($# > 0)) || { set -- -LE 'measured|long'; targets=(all); }
cmake --build build/tests --parallel "$jobs" --target "${targets[@]}"
[[ -z $compiling ]] || wait "$compiling" ||
  { cat build/cargo-tests.log; failures+=("the command cannot be compiled"); }
# A newer Rust than ours may know more of them.
if grep -qs '^warning' build/cargo-tests.log; then
  cat build/cargo-tests.log
  [[ -z ${LOAM_NO_WARNINGS:-} ]] || failures+=("the compiler, or clippy, warns of the command")
fi
end_of build

# shellcheck disable=SC2046 # one word for each
install_packages $(packages_of_tests "$@")

# One more at a time than there are processors: many of them sleep or wait for a disk.
ctest --test-dir build/tests --output-on-failure -j$((jobs + 1)) "$@" | tee "$results" ||
  failures+=("ctest")
end_of tests

[[ -z ${TIMES:-} ]] || tests/results.py --times "$results" "$phases"
tests/results.py --skipped "$results" build/tests/Testing/Temporary/LastTest.log
for failure in "${failures[@]}"; do
  echo "tests: FAILED: $failure" >&2
done
exit $((${#failures[@]} > 0))
