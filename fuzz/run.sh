#!/bin/sh
# Fuzzes the reader of static archives: fuzz/run.sh [SECONDS]. Needs stable Rust and a C++ compiler.
# What crashes is left in build/fuzz, which also holds the inputs that libFuzzer has found.
set -eu
cd "$(dirname "$0")/.."
seconds=${1:-60}
found=build/fuzz/archive
mkdir -p "$found"
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
