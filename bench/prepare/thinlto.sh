#!/bin/sh
# Objects for ThinLTO links, a minute on two processors:
#
#   bench/prepare/thinlto.sh FOLDER
#
# quick: zstd's decompressor; full: zstd and Lua; whole: SQLite besides. Of each, NAME.link is what
# `ld.lld @FOLDER/NAME.link -o FILE` reads, and NAME.out what must come out, to the byte.
. "$(dirname "$0")/common.sh"

ZSTD_CRATE_VERSION=2.1.2      # crate zstd-sys: zstd 1.5.7
LUA_CRATE_VERSION=551.1.0     # crate lua-src: Lua 5.4.9 among others
SQLITE_CRATE_VERSION=0.39.1   # crate libsqlite3-sys: SQLite 3.54.1

packages clang lld libc6-dev
zstd=$(crate "$part/crates" zstd-sys "$ZSTD_CRATE_VERSION") || fail "no crate zstd-sys"
lua=$(crate "$part/crates" lua-src "$LUA_CRATE_VERSION") || fail "no crate lua-src"
sqlite=$(crate "$part/crates" libsqlite3-sys "$SQLITE_CRATE_VERSION") \
    || fail "no crate libsqlite3-sys"
zstd=$zstd/zstd/lib
lua=$lua/lua-5.4.9
sqlite=$sqlite/sqlite3
flags="-O2 -flto=thin -w -DZSTD_DISABLE_ASM -DZSTD_MULTITHREAD -DZSTD_LEGACY_SUPPORT=0
    -DLUA_USE_POSIX -I$zstd -I$lua -I$sqlite"

# compile NAME FILE...: each to an object in $part/NAME, two at a time.
compile() {
    name=$1
    shift
    say "thinlto: compiling $name"
    mkdir -p "$part/$name"
    for file; do
        # shellcheck disable=SC2086 # flags are words, to be one line
        echo $flags -c "$file" -o "$part/$name/$(basename "$file" .c).o"
    done | xargs -P 2 -L 1 clang || fail "cannot compile $name"
}

# link NAME DEFINES OBJECT...: the list for the linker, and the outcome to compare with.
link() {
    name=$1
    defines=$2
    shift 2
    say "thinlto: linking $name"
    # shellcheck disable=SC2086 # flags are words
    clang $flags $defines -c "$here/thinlto.c" -o "$part/$name.o" || fail "cannot compile"
    clang -### -flto=thin -fuse-ld=lld -Wl,--thinlto-jobs=2 -Wl,--threads=2 \
        -Wl,--export-dynamic "$part/$name.o" "$@" -lm -o a.out 2>&1 \
        | sed -n '$s/^ *"[^"]*"//p' >"$part/$name.link"
    ld.lld "@$part/$name.link" -o "$part/$name.out" && "$part/$name.out" \
        || fail "the link of $name does not work"
    sed -i "s|$part/|$folder/|g" "$part/$name.link"
}

rm -f "$lua/lua.c" "$lua/luac.c"   # programs of their own, where the crate has them
compile decompressor "$zstd"/common/*.c "$zstd"/decompress/*.c
compile compressor "$zstd"/compress/*.c "$zstd"/dictBuilder/*.c
compile lua "$lua"/*.c
compile sqlite "$sqlite/sqlite3.c"
link quick '' "$part"/decompressor/*.o
link full -DWITH_ALL "$part"/*or/*.o "$part"/lua/*.o
link whole "-DWITH_ALL -DWITH_SQLITE" "$part"/*or/*.o "$part"/lua/*.o "$part"/sqlite/*.o
rm -rf "$part/crates"
finish
