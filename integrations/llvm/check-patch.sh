#!/bin/sh
# Applies loam's patch to LLVM's sources as Debian has them, and configures LLVM with it:
#
#   integrations/llvm/check-patch.sh 14|19|22 FOLDER
#
# FOLDER gets 100 to 200 MB of sources, packed, and up to 2 GB unpacked. Ends with 0 if LLVMSupport
# is built with loam, and if what cannot work is refused. With clang-cl, whose headers need not be
# here, LLVM 19 and 22 are configured for Windows, and the links of clang and lld are looked at.
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
    "${name}_$version/llvm" "${name}_$version/cmake" "${name}_$version/third-party" \
    "${name}_$version/clang" "${name}_$version/lld" "${name}_$version/libunwind/include"
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

# For Windows, with clang-cl and the static runtime. The answers are those of LLVM's questions about
# the standard library, which cannot be compiled here.
fail() {
    echo "check-patch: $1" >&2
    exit 1
}
configure_clang_cl() {
    ln -sfn "$(command -v clang)" "$folder/clang-cl"
    rm -rf "$folder/build-$major"
    # shellcheck disable=SC2046 # one word for each
    configure -DLLVM_ENABLE_PROJECTS="clang;lld" -DCMAKE_SYSTEM_NAME=Windows -DCMAKE_SYSTEM_PROCESSOR=AMD64 \
        $(for language in C CXX; do
            echo "-DCMAKE_${language}_COMPILER=$folder/clang-cl" \
                "-DCMAKE_${language}_COMPILER_TARGET=x86_64-pc-windows-msvc"
        done) -DCMAKE_LINKER="$(command -v lld-link)" -DCMAKE_AR="$(command -v llvm-lib)" \
        -DCMAKE_MT="$(command -v llvm-mt)" -DCMAKE_RC_COMPILER="$(command -v llvm-rc)" \
        -DCMAKE_TRY_COMPILE_TARGET_TYPE=STATIC_LIBRARY -DLLVM_FORCE_USE_OLD_TOOLCHAIN=ON \
        -DHAVE_CXX_ATOMICS_WITHOUT_LIB=ON -DHAVE_CXX_ATOMICS64_WITHOUT_LIB=ON \
        -DLLVM_HOST_TRIPLE=x86_64-pc-windows-msvc -DLLVM_TABLEGEN=/bin/true -DCLANG_TABLEGEN=/bin/true
}
if [ "$major" != 14 ]; then
    if configure_clang_cl; then fail "clang-cl is not refused where loam's object is missing"; fi
    : >"$llvm/llvm/lib/Support/loam/loam-msvc-x64.obj" # nothing is linked
    configure_clang_cl || { tail -n 20 "$folder/log" >&2; exit 1; }
    ninja -C "$folder/build-$major" -t query lib/LLVMSupport.lib | grep -q '/loam-msvc-x64\.obj$' \
        || fail "LLVMSupport.lib is made without loam's object"
    if grep -q -e ' -MDd\? ' "$folder/build-$major/build.ninja"; then fail "not all is on the static runtime"; fi
    for program in clang.exe lld.exe LTO.dll; do
        ninja -C "$folder/build-$major" -t query "bin/$program" | grep -q 'LLVMSupport\.lib$' \
            || fail "$program is linked without LLVMSupport.lib"
        sed -n "/^build bin\/$program[: ]/,/^\$/p" "$folder/build-$major/build.ninja" \
            | grep -q 'LINK_LIBRARIES = .* -INCLUDE:malloc' || fail "$program does not ask for malloc"
    done
fi
echo "check-patch: LLVM $version: applies, and LLVMSupport takes loam in"
