#!/bin/sh
# import-library.sh DEFINITION LIBRARY: the import library of a DLL for x86-64, in the form that MSVC's and LLVM's
# linkers write: by linking a DLL that has the names, and nothing else.
set -eu
folder=$(mktemp -d)
trap 'rm -r "$folder"' EXIT
sed -n 's/^\([A-Za-z_][A-Za-z_0-9]*\)\( @.*\)\{0,1\}$/int \1;/p' "$1" | grep -v '^int EXPORTS' |
  x86_64-w64-mingw32-gcc -fno-builtin -x c -c - -o "$folder/names.o"
lld-link /nologo /dll /noentry /machine:x64 "/def:$1" "/out:$folder/names.dll" "/implib:$2" "$folder/names.o"
