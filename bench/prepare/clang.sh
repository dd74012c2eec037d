#!/bin/sh
# Preprocessed C files for clang, and the objects it makes of them with its usual malloc.
#
#   bench/prepare/clang.sh FOLDER     (quick.i: Lua's interpreter; full.i: zstd's match finders)
. "$(dirname "$0")/common.sh"

ZSTD_CRATE_VERSION=2.1.2      # crate zstd-sys: zstd 1.5.7
LUA_CRATE_VERSION=551.1.0     # crate lua-src: Lua 5.4.9 among others

packages clang libc6-dev
zstd=$(crate "$part/crates" zstd-sys "$ZSTD_CRATE_VERSION") || fail "no crate zstd-sys"
lua=$(crate "$part/crates" lua-src "$LUA_CRATE_VERSION") || fail "no crate lua-src"

# compile NAME FILE
compile() {
    clang -E -P -O2 "$2" -o "$part/$1.i" && clang -O2 -w -c "$part/$1.i" -o "$part/$1.o" \
        || fail "cannot compile $2"
}

compile quick "$lua/lua-5.4.9/lvm.c"
compile full "$zstd/zstd/lib/compress/zstd_lazy.c"
rm -rf "$part/crates"
finish
