#!/usr/bin/env bash
# Real programs linked statically with musl, plain and with loam's object first: the same output,
# and how long they take. Lua, sqlite3's shell and zstd, whose sources are in crates.
#   bench/static.sh OBJECT FOLDER [ROUNDS]
set -euo pipefail
here=$(dirname "$(realpath "$0")")
. "$here/packages.sh"
object=$(realpath "$1") folder=$2 rounds=${3:-5}
mkdir -p "$folder"

ZSTD_CRATE_VERSION=2.1.2
LUA_CRATE_VERSION=551.1.0
SQLITE_CRATE_VERSION=0.39.1

need musl-gcc musl-tools
lua=$(crate "$folder/crates" lua-src "$LUA_CRATE_VERSION")/lua-5.4.9
sqlite=$(crate "$folder/crates" libsqlite3-sys "$SQLITE_CRATE_VERSION")/sqlite3
zstd=$(crate "$folder/crates" zstd-sys "$ZSTD_CRATE_VERSION")/zstd/lib

# compile NAME FLAGS -- FILE...: objects below $folder/NAME, once.
compile() {
  local name=$1 flags=() file
  shift
  while [[ $1 != -- ]]; do flags+=("$1"); shift; done
  shift
  mkdir -p "$folder/$name"
  for file; do
    local target=$folder/$name/$(basename "$file" .c).o
    [[ -f $target ]] || echo "$target" "$file"
  done | xargs -r -P 2 -L 1 musl-gcc -O2 -w "${flags[@]}" -c -o
}

link_both() {
  musl-gcc -static "$folder/$1"/*.o -lm -o "$folder/$1-musl"
  musl-gcc -static "$object" "$folder/$1"/*.o -lm -o "$folder/$1-loam"
}

mapfile -t lua_files < <(find "$lua" -name '*.c' ! -name lua.c ! -name luac.c)
mapfile -t zstd_files < <(find "$zstd/common" "$zstd/compress" "$zstd/decompress" -name '*.c')
compile lua -I"$lua" -DLUA_USE_POSIX -- "${lua_files[@]}" "$here/programs/static/lua.c"
compile sqlite -I"$sqlite" -O1 -DSQLITE_THREADSAFE=0 -DSQLITE_OMIT_LOAD_EXTENSION -- \
  "$sqlite/sqlite3.c" "$here/programs/static/sqlite.c"
compile zstd -I"$zstd" -DZSTD_DISABLE_ASM -DZSTD_MULTITHREAD -- "${zstd_files[@]}" \
  "$here/programs/static/zstd.c"

seconds_of() {
  local start=$EPOCHREALTIME
  "$@" > /dev/null
  echo "$EPOCHREALTIME $start" | awk '{printf "%.3f\n", $1 - $2}'
}

median() { sort -n | awk '{v[NR] = $1} END {print v[int((NR + 1) / 2)]}'; }

failed=0
printf '%-8s %8s %8s %8s\n' program musl loam ratio
for name in lua sqlite zstd; do
  link_both "$name"
  if ! cmp -s <("$folder/$name-musl") <("$folder/$name-loam"); then
    echo "$name: another output with loam" >&2
    failed=1
  fi
  : > "$folder/$name.musl"; : > "$folder/$name.loam"
  for ((i = 0; i < rounds; i++)); do
    for allocator in musl loam; do
      seconds_of "$folder/$name-$allocator" >> "$folder/$name.$allocator"
    done
  done
  echo "$name $(median < "$folder/$name.musl") $(median < "$folder/$name.loam")" |
    awk '{printf "%-8s %8s %8s %8.2f\n", $1, $2, $3, $2 / $3}'
done
exit $failed
