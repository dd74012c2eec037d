#!/bin/sh
# Ends with 0 if the loam command can be built here; else prints what is missing, and where it is.
cd "$(dirname "$0")/.." || exit 2
needed=$(sed -n 's/^rust-version = "\(.*\)"$/\1/p' cli/Cargo.toml)
source="get it from https://rustup.rs (Debian 12 has 1.63)"
if ! command -v cargo > /dev/null; then
  echo "it takes Rust $needed or later, and there is no cargo; $source"
  exit 1
fi
found=$(rustc --version 2> /dev/null | cut -d ' ' -f 2)
if [ "$(printf '%s\n' "$needed" "${found:-0}" | sort -V | head -n 1)" != "$needed" ]; then
  echo "it takes Rust $needed or later, and rustc is ${found:-missing}; $source"
  exit 1
fi
