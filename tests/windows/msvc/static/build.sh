#!/bin/sh
# build.sh LOAM_OBJECT FOLDER: links program.c with the static runtime in its ways: without loam
# (without.exe), with loam's object first (plain.exe, ref.exe, thin.exe), and with it in a library that
# is asked for malloc first, as LLVM's has it (library.exe). Two definitions of a name are an error of
# the linker's.
set -eu
loam=$1
folder=$2
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$folder"
compile() { # OUTPUT FLAG...
  output=$1
  shift
  clang --target=x86_64-pc-windows-msvc -fms-compatibility-version=11 -fgnuc-version=4.2.1 -O1 -fno-builtin \
    -isystem /usr/share/mingw-w64/include -D_CRTIMP= -w -c "$@" -o "$output"
}
members=$(sed -n 's/^#\(el\)\{0,1\}if defined(MEMBER_\(.*\))$/\2/p' "$here/runtime.c")
objects=
for member in $members; do
  compile "$folder/$member.obj" "-DMEMBER_$member" "$here/runtime.c"
  objects="$objects $folder/$member.obj"
done
# shellcheck disable=SC2086
lld-link /lib "/out:$folder/runtime.lib" $objects
compile "$folder/program.obj" "$here/program.c"
compile "$folder/thin.obj" -flto=thin "$here/program.c"
x86_64-w64-mingw32-dlltool -m i386:x86-64 -d "$here/../kernel32.def" -l "$folder/kernel32.lib"
link() { # PROGRAM INPUT...
  program=$1
  shift
  lld-link /nologo /subsystem:console /nodefaultlib "/out:$folder/$program" "/map:$folder/$program.map" "$@" \
    "$folder/runtime.lib" "$folder/kernel32.lib"
}
link without.exe "$folder/program.obj"
link plain.exe "$loam" "$folder/program.obj" /opt:noref
link ref.exe "$loam" "$folder/program.obj" /opt:ref /opt:icf
link thin.exe "$loam" "$folder/thin.obj" /opt:ref
lld-link /lib "/out:$folder/loam.lib" "$loam"
link library.exe "$folder/program.obj" "$folder/loam.lib" /include:malloc /opt:ref
# Of the members for the heap none but the heap itself may be linked beside loam.
for program in plain ref thin library; do
  if grep -E '(malloc|calloc|realloc|recalloc|free|msize|expand|align)(_base)?\.obj' "$folder/$program.exe.map"; then
    echo "$program.exe: the runtime's own members are linked beside loam"
    exit 1
  fi
done
