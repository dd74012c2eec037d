#!/usr/bin/env bash
# Real programs linked statically with musl, plain and with loam's object first: whether they write
# the same, and the same as with glibc, and how long they take. Lua, SQLite's shell and zstd, whose
# sources are in two crates and an npm package.
#   bench/static.sh OBJECT FOLDER [ROUNDS]
set -euo pipefail
here=$(dirname "$(realpath "$0")")
. "$here/packages.sh"
object=$(realpath "$1") folder=$2 rounds=${3:-5}
mkdir -p "$folder"

ZSTD_CRATE_VERSION=2.1.2
LUA_CRATE_VERSION=551.1.0
SQLITE_NPM_VERSION=5.1.7 # brings the sources of SQLite 3.44.2, with the shell

sqlite_source() {
  need npm npm >&2
  local unpacked=$folder/npm
  if [[ ! -d $unpacked ]]; then
    mkdir -p "$unpacked.part"
    (cd "$unpacked.part" && npm pack --silent "sqlite3@$SQLITE_NPM_VERSION" > /dev/null &&
      tar -xf sqlite3-*.tgz && tar -xf package/deps/sqlite-autoconf-*.tar.gz)
    mv "$unpacked.part" "$unpacked"
  fi
  echo "$unpacked"/sqlite-autoconf-*
}

need musl-gcc musl-tools
lua=$(crate "$folder/crates" lua-src "$LUA_CRATE_VERSION")/lua-5.4.9
sqlite=$(sqlite_source)
zstd=$(crate "$folder/crates" zstd-sys "$ZSTD_CRATE_VERSION")/zstd/lib

# compile NAME FLAGS -- FILE...: objects below $folder/NAME, for musl and glibc, once.
compile() {
  local name=$1 flags=() file compiler
  shift
  while [[ $1 != -- ]]; do flags+=("$1"); shift; done
  shift
  for compiler in musl-gcc cc; do
    mkdir -p "$folder/$name/$compiler"
    for file; do
      local target=$folder/$name/$compiler/$(basename "$file" .c).o
      [[ -f $target ]] || echo "$target" "$file"
    done | xargs -r -P 2 -L 1 "$compiler" -O2 -w "${flags[@]}" -c -o
  done
}

link_all() {
  musl-gcc -static "$folder/$1"/musl-gcc/*.o -lm -o "$folder/$1-musl"
  musl-gcc -static "$object" "$folder/$1"/musl-gcc/*.o -lm -o "$folder/$1-loam"
  cc "$folder/$1"/cc/*.o -lm -pthread -o "$folder/$1-glibc"
}

mapfile -t lua_files < <(find "$lua" -name '*.c' ! -name lua.c ! -name luac.c)
mapfile -t zstd_files < <(find "$zstd/common" "$zstd/compress" "$zstd/decompress" -name '*.c')
compile lua -I"$lua" -DLUA_USE_POSIX -- "${lua_files[@]}" "$here/programs/static/lua.c"
compile sqlite -I"$sqlite" -O1 -DSQLITE_THREADSAFE=0 -DSQLITE_OMIT_LOAD_EXTENSION -- \
  "$sqlite/sqlite3.c" "$sqlite/shell.c"
compile zstd -I"$zstd" -DZSTD_DISABLE_ASM -DZSTD_MULTITHREAD -- "${zstd_files[@]}" \
  "$here/programs/static/zstd.c"

# run_program NAME ALLOCATOR
run_program() {
  case $1 in
    sqlite) "$folder/$1-$2" -cmd "CREATE TABLE size AS SELECT 300000 AS n" :memory: \
      < "$here/scripts/tables.sql" ;;
    *) "$folder/$1-$2" ;;
  esac
}

seconds_of() {
  local start=$EPOCHREALTIME
  run_program "$@" > /dev/null
  echo "$EPOCHREALTIME $start" | awk '{printf "%.3f\n", $1 - $2}'
}

median() { sort -n | awk '{v[NR] = $1} END {print v[int((NR + 1) / 2)]}'; }

failed=0
printf '%-8s %8s %8s %8s\n' program musl loam ratio
for name in lua sqlite zstd; do
  link_all "$name"
  for allocator in musl glibc loam; do
    run_program "$name" "$allocator" > "$folder/$name-$allocator.output"
  done
  for allocator in musl glibc; do
    cmp "$folder/$name-$allocator.output" "$folder/$name-loam.output" || failed=1
  done
  : > "$folder/$name.musl"; : > "$folder/$name.loam"
  for ((i = 0; i < rounds; i++)); do
    for allocator in musl loam; do
      seconds_of "$name" "$allocator" >> "$folder/$name.$allocator"
    done
  done
  echo "$name $(median < "$folder/$name.musl") $(median < "$folder/$name.loam")" |
    awk '{printf "%-8s %8s %8s %8.2f\n", $1, $2, $3, $2 / $3}'
done
exit $failed
