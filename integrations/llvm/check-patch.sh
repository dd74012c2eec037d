#!/bin/sh
# Applies loam's patch to LLVM's sources as Debian has them, and configures LLVM with it:
#
#   integrations/llvm/check-patch.sh 14|19|22 FOLDER
#
# FOLDER gets 100 to 200 MB of sources, packed, and up to 1 GB unpacked. Ends with 0 if LLVMSupport
# is built with loam, and if what cannot work is refused.
set -eu
usage="usage: $0 14|19|22 FOLDER"
[ $# = 2 ] || { echo "$usage" >&2; exit 2; }
archive=debian suite=bookworm
case $1 in
    14) version=14.0.6 ;;
    19) version=19.1.7 ;;
    22) version=22.1.8 archive=debian-security suite=bookworm-security ;;
    *) echo "$usage" >&2; exit 2 ;;
esac
major=$1
here=$(cd "$(dirname "$0")" && pwd)
loam=$(cd "$here/../.." && pwd)
mkdir -p "$2/lists/partial" "$2/sources"
folder=$(cd "$2" && pwd)

# Its own list of sources: the machine's stays as it is.
cat >"$folder/sources/llvm.sources" <<END
Types: deb-src
URIs: http://deb.debian.org/$archive
Suites: $suite
Components: main
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg
END
apt() {
    apt-get -q -o Dir::Etc::sourceparts="$folder/sources" -o Dir::Etc::sourcelist=/dev/null \
        -o Dir::State::lists="$folder/lists" "$@"
}
name=llvm-toolchain-$major
tarball=$folder/${name}_$version.orig.tar.xz
[ -e "$tarball" ] || (cd "$folder" && apt update && apt source --download-only "$name")

llvm=$folder/llvm-$major
rm -rf "$llvm" "$folder/build-$major" && mkdir "$llvm"
tar xJf "$tarball" -C "$llvm" --strip-components 1 --exclude '*/test/*' --exclude '*/unittests/*' \
    "${name}_$version/llvm" "${name}_$version/cmake" "${name}_$version/third-party"
patch -d "$llvm" -p1 <"$here/loam-llvm-$version.patch"

make -s -C "$loam" dist
case $major in
    14) # knows the allocator by the folder's name
        ln -sfn "$loam" "$folder/loam"
        enable=-DLLVM_INTEGRATED_CRT_ALLOC=$folder/loam
        ;;
    *) # has it among its sources
        mkdir "$llvm/llvm/lib/Support/loam"
        cp "$loam/dist/loam.c" "$loam/dist/loam.h" "$llvm/llvm/lib/Support/loam"
        enable=-DLLVM_ENABLE_LOAM=ON
        ;;
esac
configure() {
    cmake -S "$llvm/llvm" -B "$folder/build-$major" -G Ninja -DCMAKE_BUILD_TYPE=Release \
        -DLLVM_TARGETS_TO_BUILD=X86 -DLLVM_INCLUDE_TESTS=OFF -DLLVM_INCLUDE_BENCHMARKS=OFF \
        -DLLVM_INCLUDE_UTILS=OFF -DLLVM_INCLUDE_EXAMPLES=OFF "$enable" "$@" >"$folder/log" 2>&1
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
grep -q 'lib/Support/.*loam\.c\.o' "$folder/build-$major/build.ninja" \
    || { echo "check-patch: LLVMSupport is built without loam.c" >&2; exit 1; }
refuses 'cannot be used along with BUILD_SHARED_LIBS' -DBUILD_SHARED_LIBS=ON
refuses 'cannot be used along with LLVM_USE_SANITIZER' -DLLVM_USE_SANITIZER=Address
echo "check-patch: LLVM $version: applies, and LLVMSupport takes loam in"
