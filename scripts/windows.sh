#!/bin/sh
# windows.sh FOLDER [FLAG...]: what programs of MSVC take to run on loam, as in a release's folder
# windows/: for x86-64 loam-redirect.dll, loam-run.exe and loam-redirect.lib, by MinGW's GCC and lld;
# loam-msvc-x64.obj and loam-msvc-arm64.obj by clang. FLAGs are the compilers'. SOURCE says where
# the sources are.
set -eu
folder=$1
shift
here=$(cd "$(dirname "$0")" && pwd)
source=${SOURCE:-$(dirname "$here")}
target=x86_64-w64-mingw32
mkdir -p "$folder"

extra=$*
compile() { # COMPILER FLAG...; of FLAGs for all each is one word
  # shellcheck disable=SC2086
  "$@" -std=c11 -O2 -g0 -DNDEBUG "-ffile-prefix-map=$source=." "-I$source/include" "-I$source/src" \
    -fno-builtin-malloc -fno-stack-protector -Wall -Wextra -Wshadow -Wundef -Wstrict-prototypes \
    -Wmissing-prototypes -Werror $extra
}
bare() {
  compile $target-gcc -ffreestanding -c "$@"
}
# MinGW's headers serve as Microsoft's if the compiler says that it is like GCC, too.
msvc() { # PROCESSOR OUTPUT
  compile clang "--target=$1-pc-windows-msvc" -o "$2" -fms-compatibility-version=11 -fgnuc-version=4.2.1 \
    -mno-incremental-linker-compatible -isystem /usr/share/mingw-w64/include -D_CRTIMP= -c "$source/src/loam.c"
}
# No C runtime: none may begin before it.
link() {
  $target-gcc -nostdlib -s -Wl,--no-insert-timestamp,--dynamicbase,--nxcompat,--high-entropy-va "$@" \
    "$folder/ntdll.a" -lkernel32 -lgcc
}

exports=$source/src/redirect/loam-redirect.def
bare -DLM_REDIRECT=1 "$source/src/loam.c" -o "$folder/loam.o"
bare -DLM_REDIRECT=1 "$source/src/redirect_windows.c" -o "$folder/redirect.o"
bare "$source/src/run_windows.c" -o "$folder/run.o"
$target-dlltool -d "$source/src/redirect/ntdll.def" -l "$folder/ntdll.a"
link -shared -Wl,--entry,lm_redirect_entry -o "$folder/loam-redirect.dll" "$folder/loam.o" "$folder/redirect.o" \
  "$exports"
link -Wl,--entry,lm_run_start -o "$folder/loam-run.exe" "$folder/run.o"
"$here/import-library.sh" "$exports" "$folder/loam-redirect.lib"
msvc x86_64 "$folder/loam-msvc-x64.obj"
msvc aarch64 "$folder/loam-msvc-arm64.obj"
cp "$here/../cmake/loam-redirect.cmake" "$here/try-windows.cmd" "$folder"
cd "$folder"
rm loam.o redirect.o run.o ntdll.a
