#!/bin/sh
# Applies loam-llvm-14.0.6.patch to LLVM's sources as Debian has them, and configures LLVM with it:
#
#   integrations/llvm/check-patch.sh FOLDER
#
# FOLDER gets 130 MB of sources, packed, and 700 MB unpacked. Ends with 0 if LLVMSupport is built
# with loam, and if what cannot work is refused.
set -eu
[ $# = 1 ] || { echo "usage: $0 FOLDER" >&2; exit 2; }
here=$(cd "$(dirname "$0")" && pwd)
loam=$(cd "$here/../.." && pwd)
mkdir -p "$1/lists/partial" "$1/sources"
folder=$(cd "$1" && pwd)

# Its own list of sources: the machine's stays as it is.
cat >"$folder/sources/llvm.sources" <<END
Types: deb-src
URIs: http://deb.debian.org/debian
Suites: bookworm
Components: main
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg
END
apt() {
    apt-get -q -o Dir::Etc::sourceparts="$folder/sources" -o Dir::Etc::sourcelist=/dev/null \
        -o Dir::State::lists="$folder/lists" "$@"
}
tarball=$folder/llvm-toolchain-14_14.0.6.orig.tar.xz
[ -e "$tarball" ] || (cd "$folder" && apt update && apt source --download-only llvm-toolchain-14)

rm -rf "$folder/llvm" && mkdir "$folder/llvm"
tar xJf "$tarball" -C "$folder/llvm" --strip-components 1 --exclude '*/test/*' \
    --exclude '*/unittests/*' llvm-toolchain-14_14.0.6/llvm llvm-toolchain-14_14.0.6/cmake \
    llvm-toolchain-14_14.0.6/third-party
patch -d "$folder/llvm" -p1 <"$here/loam-llvm-14.0.6.patch"

# LLVM knows the allocator by the folder's name.
ln -sfn "$loam" "$folder/loam"
make -s -C "$loam" dist
configure() {
    cmake -S "$folder/llvm/llvm" -B "$folder/build" -G Ninja -DCMAKE_BUILD_TYPE=Release \
        -DLLVM_TARGETS_TO_BUILD=X86 -DLLVM_INCLUDE_TESTS=OFF -DLLVM_INCLUDE_BENCHMARKS=OFF \
        -DLLVM_INCLUDE_UTILS=OFF -DLLVM_INCLUDE_EXAMPLES=OFF \
        "-DLLVM_INTEGRATED_CRT_ALLOC=$folder/loam" "$@" >"$folder/log" 2>&1
}
# refuses SENTENCE OPTION: configuring with the option ends with the sentence.
refuses() {
    if configure "$2" || ! tr -s ' \n' ' ' <"$folder/log" | grep -qF "$1"; then
        echo "check-patch: $2 is not refused with: $1" >&2
        exit 1
    fi
    configure "${2%%=*}=OFF" || { tail -n 5 "$folder/log" >&2; exit 1; }
}
configure || { tail -n 20 "$folder/log" >&2; exit 1; }
grep -q 'lib/Support/.*dist/loam\.c\.o' "$folder/build/build.ninja" \
    || { echo "check-patch: LLVMSupport is built without loam.c" >&2; exit 1; }
refuses 'loam cannot be used along with BUILD_SHARED_LIBS' -DBUILD_SHARED_LIBS=ON
refuses 'cannot be used along with LLVM_USE_SANITIZER' -DLLVM_USE_SANITIZER=Address
echo "check-patch: applies, and LLVMSupport takes loam in"
