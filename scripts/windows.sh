#!/bin/sh
# windows.sh FOLDER [FLAG...]: what programs of MSVC take to run on loam, for x86-64, by MinGW's GCC:
# loam-redirect.dll, loam-run.exe, and by lld the import library loam-redirect.lib. FLAGs are the
# compiler's. SOURCE says where the sources are.
set -eu
folder=$1
shift
here=$(cd "$(dirname "$0")" && pwd)
source=${SOURCE:-$here/..}
target=x86_64-w64-mingw32
mkdir -p "$folder"

flags=$*
compile() { # of FLAGs each is one word
  # shellcheck disable=SC2086
  $target-gcc "$@" $flags -std=c11 -O2 -g1 -DNDEBUG "-ffile-prefix-map=$source=." "-I$source/include" "-I$source/src" \
    -fno-builtin-malloc -fno-stack-protector -ffreestanding -Wall -Wextra -Wshadow -Wundef -Wstrict-prototypes \
    -Wmissing-prototypes -Werror
}
compile -DLM_REDIRECT=1 -c "$source/src/loam.c" -o "$folder/loam.o"
compile -DLM_REDIRECT=1 -c "$source/src/redirect_windows.c" -o "$folder/redirect.o"
compile -c "$source/src/run_windows.c" -o "$folder/run.o"
exports=$source/src/redirect/loam-redirect.def
$target-dlltool -d "$source/src/redirect/ntdll.def" -l "$folder/ntdll.a"
"$here/import-library.sh" "$exports" "$folder/loam-redirect.lib"
# No C runtime: none may begin before it.
$target-gcc -shared -nostdlib -s -Wl,--entry,lm_redirect_entry -Wl,--dynamicbase,--nxcompat,--high-entropy-va \
  -o "$folder/loam-redirect.dll" "$folder/loam.o" "$folder/redirect.o" "$exports" \
  "$folder/ntdll.a" -lkernel32 -lgcc
$target-gcc -nostdlib -s -Wl,--entry,lm_run_start -Wl,--dynamicbase,--nxcompat,--high-entropy-va \
  -o "$folder/loam-run.exe" "$folder/run.o" "$folder/ntdll.a" -lkernel32 -lgcc
cd "$folder"
rm loam.o redirect.o run.o ntdll.a
