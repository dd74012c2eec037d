#!/bin/sh
# Fuzzes with libFuzzer, which keeps what it has found in build/fuzz: fuzz/run.sh WHAT [SECONDS]
#   allocator, checking  every call of either build of the allocator (fuzz/allocator.c)
#   options              what reads LOAM_OPTIONS (fuzz/options.c)
#   archive              what 'loam graft' reads static archives with (fuzz/archive.rs)
# The first three need clang and its libclang-rt, the last stable Rust and a C++ compiler.
set -eu
cd "$(dirname "$0")/.."
[ $# -ge 1 ] || { sed -n 's/^# \{0,1\}//p' "$0" >&2; exit 2; }
what=$1 seconds=${2:-60}
found=build/fuzz/$what
mkdir -p "$found"

fuzz_c() {
  clang -g -O1 -std=gnu11 -fno-builtin -w -fsanitize=fuzzer,undefined -fno-sanitize-recover=undefined \
    -Itests -Iinclude -Isrc -DFUZZ_WITH_LIBFUZZER=1 -DLM_NO_OVERRIDE=1 -DLM_FAKE_OS=1 \
    -DTEST_WITHOUT_LOAM=1 -DLM_CHECKING="$2" "fuzz/$1.c" -o "build/fuzz/$what.run" -lpthread -ldl
  exec "build/fuzz/$what.run" -max_total_time="$seconds" -timeout=60 -rss_limit_mb=4096 \
    -max_len=4096 -len_control=20 -artifact_prefix=build/fuzz/ "$found"
}

fuzz_archive() {
  # What cargo-fuzz passes, as far as stable Rust has it.
  RUSTFLAGS="-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
-Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
-Cllvm-args=-sanitizer-coverage-trace-compares --cfg fuzzing -Ccodegen-units=1"
  export RUSTFLAGS
  host=$(rustc -vV | sed -n 's/^host: //p')
  # With a target named, the flags are not for build scripts.
  cargo build --quiet --release --locked --target "$host" \
    --manifest-path fuzz/Cargo.toml --target-dir build/fuzz/target
  exec "build/fuzz/target/$host/release/archive" -max_total_time="$seconds" -timeout=10 \
    -rss_limit_mb=1024 -max_len=16384 -artifact_prefix=build/fuzz/ "$found" fuzz/corpus/archive
}

case $what in
  allocator) fuzz_c allocator 0 ;;
  checking) fuzz_c allocator 1 ;;
  options) fuzz_c options 0 ;;
  archive) fuzz_archive ;;
  *) echo "fuzz/run.sh: no '$what': allocator, checking, options or archive" >&2; exit 2 ;;
esac
