#!/bin/sh
# Gets the other allocators to compare with, as libraries to preload, into build/peers.
#
#   bench/peers.sh [--quick] [NAME...]
#
# Without names: all of them, 6 minutes on two processors. --quick leaves out the two that take
# most of it (jemalloc, tcmalloc); then it is half a minute. What is there already in the version
# pinned below is left alone. Each peer succeeds or fails on its own, and is checked: a program
# that is started with it must get its malloc. The exit status is the number of peers missing.
#
# Of each NAME: NAME.so, NAME.version, NAME.flags (what it was built with) and, where a peer needs
# variables to work as its documentation wants it, NAME.environment (lines NAME=VALUE).
set -u

MIMALLOC_VERSION=3.4.3          # Python package cmeel-mimalloc
MIMALLOC2_VERSION=2.3.2         # in the crate libmimalloc-sys
MIMALLOC_CRATE_VERSION=0.1.49
RPMALLOC_VERSION=1.4.3+b097fd0  # in the crate rpmalloc-sys; no package carries rpmalloc 2
RPMALLOC_CRATE_VERSION=0.2.3
SNMALLOC_VERSION=0.7.6          # crate snmalloc-sys, numbered as snmalloc is
JEMALLOC_VERSION=5.3.1          # in the crate tikv-jemalloc-sys
JEMALLOC_CRATE_VERSION=0.7.1
TCMALLOC_VERSION=0.1.14         # crate libtcmalloc-sys; tcmalloc itself has no versions

QUICK_PEERS="mimalloc mimalloc2 rpmalloc snmalloc gperftools tbb scudo"
SLOW_PEERS="jemalloc tcmalloc"

root=$(cd "$(dirname "$0")/.." && pwd)
. "$root/bench/packages.sh"
out=$root/build/peers
scratch=$out/scratch
log_dir=$out/logs
jobs=$(nproc 2>/dev/null || echo 2)
mkdir -p "$out" "$scratch" "$log_dir"

# pinned NAME: the version wanted; nothing for what the distribution decides.
pinned() {
    case $1 in
    mimalloc) echo "$MIMALLOC_VERSION" ;;
    mimalloc2) echo "$MIMALLOC2_VERSION" ;;
    rpmalloc) echo "$RPMALLOC_VERSION" ;;
    snmalloc) echo "$SNMALLOC_VERSION" ;;
    jemalloc) echo "$JEMALLOC_VERSION" ;;
    tcmalloc) echo "$TCMALLOC_VERSION" ;;
    esac
}

# takes NAME: how long it takes, for those who wait.
takes() {
    case $1 in
    tcmalloc) echo "about 4 minutes" ;;
    jemalloc) echo "about a minute" ;;
    *) echo "seconds" ;;
    esac
}

# built NAME COMPILER FLAGS...: moves the finished library to its place and notes what made it.
built() {
    name=$1
    compiler=$2
    shift 2
    pinned "$name" >"$out/$name.version"
    echo "$compiler $("$compiler" -dumpfullversion) $*" >"$out/$name.flags"
    mv "$out/$name.so.part" "$out/$name.so"
}

# from_debian NAME PACKAGE FILE: a link to a library of the distribution.
from_debian() {
    need_package "$2" || return 1
    library=$(dpkg -L "$2" | grep "/$3\$" | head -n 1)
    [ -n "$library" ] || { echo "package $2 has no $3"; return 1; }
    dpkg-query -W -f '${Version}\n' "$2" | sed 's/^[0-9]*://' >"$out/$1.version"
    echo "as packaged by Debian" >"$out/$1.flags"
    ln -sf "$library" "$out/$1.so"
}

get_mimalloc() {
    need python3 python3 && need unzip unzip || return 1
    python3 -m pip --version >/dev/null 2>&1 || need_package python3-pip || return 1
    python3 -m pip download -q --no-deps -d "$scratch" "cmeel-mimalloc==$MIMALLOC_VERSION" \
        || return 1
    unzip -p "$scratch"/cmeel_mimalloc-"$MIMALLOC_VERSION"*.whl '*/libmimalloc.so' \
        >"$out/mimalloc.so.part" && mv "$out/mimalloc.so.part" "$out/mimalloc.so" || return 1
    echo "$MIMALLOC_VERSION" >"$out/mimalloc.version"
    echo "as in the wheel" >"$out/mimalloc.flags"
}

# The flags and definitions are those of mimalloc's own build of its shared library.
get_mimalloc2() {
    need gcc gcc || return 1
    dir=$(crate "$scratch" libmimalloc-sys "$MIMALLOC_CRATE_VERSION") || return 1
    dir=$dir/c_src/mimalloc/v2
    flags="-std=gnu11 -O3 -DNDEBUG -fPIC -shared -pthread -fvisibility=hidden
        -ftls-model=initial-exec -fno-builtin-malloc -DMI_MALLOC_OVERRIDE -DMI_SHARED_LIB
        -DMI_SHARED_LIB_EXPORT"
    # shellcheck disable=SC2086 # flags are words
    gcc $flags -I"$dir/include" -I"$dir/src" "$dir/src/static.c" -o "$out/mimalloc2.so.part" \
        -lrt || return 1
    # shellcheck disable=SC2086
    built mimalloc2 gcc $flags
}

get_snmalloc() {
    need g++ g++ || return 1
    dir=$(crate "$scratch" snmalloc-sys "$SNMALLOC_VERSION") || return 1
    override=$dir/upstream/src/snmalloc/override
    flags="-std=c++20 -O3 -DNDEBUG -fPIC -shared -pthread -mcx16 -mprfchw -fvisibility=hidden
        -fno-rtti -fomit-frame-pointer -ftls-model=initial-exec -DSNMALLOC_USE_WAIT_ON_ADDRESS=1
        -DSNMALLOC_USE_CXX11_THREAD_ATEXIT_DIRECT
        -DSNMALLOC_EXPORT=__attribute__((visibility(\"default\")))"
    # shellcheck disable=SC2086
    g++ $flags -I"$dir/upstream/src" "$override/malloc.cc" "$override/new.cc" \
        -o "$out/snmalloc.so.part" -latomic || return 1
    # shellcheck disable=SC2086
    built snmalloc g++ $flags
}

get_rpmalloc() {
    need gcc gcc || return 1
    dir=$(crate "$scratch" rpmalloc-sys "$RPMALLOC_CRATE_VERSION") || return 1
    flags="-std=gnu11 -O3 -DNDEBUG -fPIC -shared -pthread -fvisibility=hidden
        -ftls-model=initial-exec -fno-builtin-malloc -D_GNU_SOURCE=1 -DENABLE_OVERRIDE=1
        -DENABLE_PRELOAD=1"
    # shellcheck disable=SC2086
    gcc $flags "$dir/rpmalloc/rpmalloc/rpmalloc.c" -o "$out/rpmalloc.so.part" -ldl || return 1
    # shellcheck disable=SC2086
    built rpmalloc gcc $flags
}

get_gperftools() { from_debian gperftools libtcmalloc-minimal4 libtcmalloc_minimal.so.4; }

# The proxy defines malloc and opens libtbbmalloc.so.2 by itself.
get_tbb() { from_debian tbb libtbbmalloc2 libtbbmalloc_proxy.so.2; }

get_scudo() {
    from_debian scudo libclang-rt-14-dev "libclang_rt.scudo_standalone-$(uname -m).so"
}

get_jemalloc() {
    need gcc gcc && need make make || return 1
    dir=$(crate "$scratch" tikv-jemalloc-sys "$JEMALLOC_CRATE_VERSION") || return 1
    build=$scratch/jemalloc-build
    rm -rf "$build" && cp -R "$dir/jemalloc" "$build" && cp "$dir/configure/configure" "$build/" \
        || return 1
    (cd "$build" && sh ./configure --disable-cxx --with-version="$JEMALLOC_VERSION-0-g0" \
        && make -j"$jobs" build_lib_shared) || return 1
    cp "$build/lib/libjemalloc.so.2" "$out/jemalloc.so.part" || return 1
    built jemalloc gcc "$(sed -n 's/^CONFIGURE_CFLAGS := //p' "$build/Makefile")" \
        "(configure --disable-cxx)"
}

# The crate's build script names the sources; its own bridge is left out, and tcmalloc.cc, which
# defines malloc itself, comes in. Its caches per processor need restartable sequences, which this
# glibc takes for itself unless told not to; without them it is the slower kind of tcmalloc.
get_tcmalloc() {
    need g++ g++ || return 1
    dir=$(crate "$scratch" libtcmalloc-sys "$TCMALLOC_VERSION") || return 1
    objects=$scratch/tcmalloc-objects
    rm -rf "$objects" && mkdir -p "$objects" || return 1
    sources=$(grep -o '"c_src/[^"]*\.\(cc\|S\)"' "$dir/build.rs" | tr -d '"' | grep -v bridge)
    flags="-std=c++17 -O2 -DNDEBUG -fPIC -pthread -w -DTCMALLOC_INTERNAL_8K_PAGES"
    for source in $sources c_src/tcmalloc/tcmalloc/tcmalloc.cc; do
        echo "$flags -I$dir/c_src/abseil-cpp -I$dir/c_src/tcmalloc -c $dir/$source" \
            "-o $objects/$(echo "$source" | tr / _).o"
    done | xargs -P "$jobs" -L 1 g++ || return 1
    g++ -shared -pthread -Wl,-z,now "$objects"/*.o -o "$out/tcmalloc.so.part" || return 1
    echo "GLIBC_TUNABLES=glibc.pthread.rseq=0" >"$out/tcmalloc.environment"
    built tcmalloc g++ "$flags"
}

# is_complete NAME: all its files are there, in the pinned version.
is_complete() {
    [ -e "$out/$1.so" ] && [ -s "$out/$1.flags" ] && [ -s "$out/$1.version" ] || return 1
    [ -z "$(pinned "$1")" ] || [ "$(cat "$out/$1.version")" = "$(pinned "$1")" ]
}

# takes_effect NAME: whose malloc and free does a program get that is started with it?
takes_effect() {
    who=$scratch/who
    [ -x "$who" ] || { need gcc gcc && gcc "$root/bench/tools/who.c" -o "$who"; } || return 1
    files=$(LD_PRELOAD=$out/$1.so "$who") || { echo "a program does not run with it"; return 1; }
    wanted=$(readlink -f "$out/$1.so")
    echo "$files" | while read -r file; do
        [ "$(readlink -f "$file")" = "$wanted" ] || exit 1
    done || { echo "no effect: malloc and free are in $(echo "$files" | tr '\n' ' ')"; return 1; }
}

# get NAME: makes it if need be; a line when that starts, and one with the version and the path, or
# why it is missing.
get() {
    if ! is_complete "$1"; then
        echo "$1: being made ($(takes "$1"))"
        rm -f "$out/$1.so" "$out/$1.so.part" "$out/$1.flags" "$out/$1.version"
        "get_$1" >"$log_dir/$1" 2>&1 || { missing_peer "$1"; return 1; }
    fi
    takes_effect "$1" >"$log_dir/$1.check" 2>&1 || { missing_peer "$1.check"; return 1; }
    printf '%-12s %-16s %s\n' "$1:" "$(cat "$out/$1.version")" "$out/$1.so"
}

# missing_peer LOG: why, from the end of its log.
missing_peer() {
    echo "${1%.check}: missing: $(tail -n 1 "$log_dir/$1") (all of it: $log_dir/$1)"
}

peers=
for argument; do
    case $argument in
    --quick) peers="$peers $QUICK_PEERS" ;;
    -h | --help) sed -n '2,/^set/s/^# \{0,1\}//p' "$0"; exit 0 ;;
    *) command -v "get_$argument" >/dev/null || { echo "unknown peer: $argument"; exit 64; }
       peers="$peers $argument" ;;
    esac
done

missing=0
for peer in ${peers:-$QUICK_PEERS $SLOW_PEERS}; do
    get "$peer" || missing=$((missing + 1))
done
exit "$missing"
