#!/usr/bin/env python3
"""Checks what libloam.so shows to the loader.

It exports the malloc family, operators new and delete and loam_*, all of them and nothing else;
it needs no other library, and of the C library only what both glibc and musl have, so that it loads
beside either (undefined.py has why it may ask for each); its thread-local data is small enough for a program that opens it with dlopen; its
stack is not executable and its code needs no relocation.
"""
import re
import subprocess
import sys

FAMILY = """malloc free calloc realloc reallocarray aligned_alloc posix_memalign free_sized
free_aligned_sized memalign valloc pvalloc malloc_usable_size malloc_trim malloc_stats malloc_info
mallopt mallinfo mallinfo2""".split()
LIBC_NAMES = """__libc_malloc __libc_free __libc_calloc __libc_realloc __libc_memalign __libc_valloc
__libc_pvalloc""".split()
# n: new, d: delete; w: single, a: array; m: size; then align_val_t, nothrow_t.
OPERATORS = [f"_Zn{kind}m{rest}" for kind in "wa"
             for rest in ("", "RKSt9nothrow_t", "St11align_val_t",
                          "St11align_val_tRKSt9nothrow_t")]
OPERATORS += [f"_Zd{kind}Pv{rest}" for kind in "la"
              for rest in ("", "m", "RKSt9nothrow_t", "St11align_val_t", "mSt11align_val_t",
                           "St11align_val_tRKSt9nothrow_t")]
PREFIXED = [f"loam_{name}" for name in FAMILY] + ["loam_version"]
# Calls after which reserved address space counts.
LIMITS = "setrlimit setrlimit64 prlimit prlimit64 mlockall".split()
OPENERS = ["dlopen"] # without RTLD_DEEPBIND
FINDERS = "dlsym dlvsym".split() # the family by a handle of the C library
EXPECTED = set(FAMILY + LIBC_NAMES + OPERATORS + PREFIXED + LIMITS + OPENERS + FINDERS)
# More names of ours, and those that some C libraries have: permitted, not demanded.
PERMITTED = re.compile(r"loam_\w+|cfree|__posix_memalign|__libc_\w+")
# What it may ask for: in every glibc and in every musl.
ASKED = set("""__errno_location __libc_current_sigrtmin environ fwrite getauxval madvise memcmp
memcpy memset mprotect mremap munmap sigaction strcmp strlen""".split())
TLS_BYTES = 512 # of the about 1,600 spare bytes of glibc, for all libraries together


def output(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def check(library):
    symbols = {line.split()[-1].split("@")[0]
               for line in output("nm", "-D", "--defined-only", library).splitlines()}
    for name in sorted(EXPECTED - symbols):
        yield f"does not export {name}"
    for name in sorted(symbols - EXPECTED):
        if PERMITTED.fullmatch(name) is None:
            yield f"exports {name}"
    for kind, name in re.findall(r"^\s+([Uwv]) (\S+)", output("nm", "-D", "-u", library), re.M):
        if kind == "U" and name not in ASKED:
            yield f"asks for {name}"
    dynamic = output("readelf", "-dW", library)
    for name in re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic):
        yield f"needs {name}"
    if "TEXTREL" in dynamic:
        yield "its code needs relocations"
    headers = output("readelf", "-lW", library)
    tls = re.search(r"^\s+TLS\s+\S+ \S+ \S+ \S+ (0x[0-9a-f]+)", headers, re.M)
    if tls is not None and int(tls[1], 16) > TLS_BYTES:
        yield f"{int(tls[1], 16)} bytes of thread-local data, at most {TLS_BYTES}"
    stack = re.search(r"^\s+GNU_STACK.*", headers, re.M)
    if stack is None or "RWE" in stack[0]:
        yield "its stack is executable"


def main():
    if len(sys.argv) != 2:
        sys.exit(f"usage: {sys.argv[0]} LIBRARY")
    found = list(check(sys.argv[1]))
    print(*found, f"{len(found)} findings", sep="\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
