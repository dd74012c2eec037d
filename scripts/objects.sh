#!/usr/bin/env bash
# What `make objects` calls: loam.o for every processor that a compiler is installed for, as
# OUTPUT/loam-ARCH.o. Each serves static programs of musl and of glibc. C++'s operators are left to
# the C++ runtime, which calls malloc: its parts that throw are linked in only with its operators.
# dlsym is left to the C library.
#   scripts/objects.sh OUTPUT BUILD [soon]
# soon: for tests; those of other processors are optimised less.
set -euo pipefail
cd "$(dirname "$0")/.."
output=$1 build=$2 soon=${3:-}
host=$(uname -m)

# ARCH: the compiler and its flags, and the Debian packages that bring it.
objects=(
  "x86_64: x86_64-linux-gnu-gcc: gcc-x86-64-linux-gnu"
  "aarch64: aarch64-linux-gnu-gcc: gcc-aarch64-linux-gnu libc6-dev-arm64-cross"
  "riscv64: riscv64-linux-gnu-gcc: gcc-riscv64-linux-gnu libc6-dev-riscv64-cross"
  "armhf: arm-linux-gnueabihf-gcc: gcc-arm-linux-gnueabihf libc6-dev-armhf-cross"
  "i386: i686-linux-gnu-gcc: gcc-i686-linux-gnu libc6-dev-i386-cross"
)

# The compiler for the architecture: the host's own, or one with -m32, or the cross compiler.
compiler_for() {
  local arch=$1 cross=$2
  if [[ $arch == "$host" ]]; then
    echo "${CC:-cc}"
  elif command -v "$cross" > /dev/null; then
    echo "$cross"
  elif [[ $arch == i386 && $host == x86_64 ]] && compiles_32_bit; then
    echo "gcc -m32 -idirafter /usr/include/x86_64-linux-gnu"
  fi
}

compiles_32_bit() {
  echo '#include <stdlib.h>' |
    gcc -m32 -idirafter /usr/include/x86_64-linux-gnu -x c -c - -o /dev/null 2> /dev/null
}

build_object() {
  local arch=$1 compiler=$2 flags='-DLM_NO_OPERATORS=1 -DLM_NO_DLSYM=1' folder=$build/$1
  [[ $compiler == *' '* ]] && flags+=" ${compiler#* }"
  local level=-O2 optimize=ON
  [[ -n $soon && $arch != "$host" ]] && level=-O1 optimize=OFF
  mkdir -p "$folder"
  CFLAGS=$flags CC=${compiler%% *} cmake -S . -B "$folder/cmake" -DCMAKE_BUILD_TYPE=Release \
    -DCMAKE_C_FLAGS_RELEASE="$level -DNDEBUG" -DLOAM_OPTIMIZE=$optimize \
    -DCMAKE_C_COMPILER_WORKS=TRUE \
    -DCMAKE_OBJCOPY="$(objcopy_for "${compiler%% *}")" > "$folder/log" 2>&1 &&
    cmake --build "$folder/cmake" --target loam_relocatable >> "$folder/log" 2>&1 ||
    { cat "$folder/log" >&2; exit 1; }
  install -m 644 "$folder/lib/loam.o" "$output/loam-$arch.o"
  echo "objects: $output/loam-$arch.o"
}

objcopy_for() {
  local prefixed=${1%gcc}objcopy
  command -v "$prefixed" || command -v objcopy
}

mkdir -p "$output"
for line in "${objects[@]}"; do
  IFS=: read -r arch cross packages <<< "${line//: /:}"
  compiler=$(compiler_for "$arch" "$cross")
  if [[ -z $compiler ]]; then
    echo "objects: no loam-$arch.o: no compiler $cross (Debian: $packages)"
  else
    build_object "$arch" "$compiler"
  fi
done
