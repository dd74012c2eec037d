#!/usr/bin/env python3
"""Static programs with loam's object first on the link line: linked, inspected and run.

    run.py PLATFORM OBJECTS WORK [ARCHIVE]

PLATFORM is one of the keys of PLATFORMS, or `linkers` for every linker with every way to link, or
`self-test`: programs without loam must not pass. OBJECTS is the folder of loam-ARCH.o, WORK one for
programs, ARCHIVE libloam.a for the linkers.
"""
import os
import re
import subprocess
import sys
from functools import cache, partial

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
# What is run on each platform: threads, forks, thread-local storage, constructors, libc's callers.
PROGRAMS = ["static/libc_callers.c", "static/before_and_after_main.c", "fork/under_threads.c",
            "fork/atfork_handlers.c", "fork/from_thread.c", "fork/memory_in_child.c",
            "stress/exchange.c", "api/size_sweep.c", "api/realloc_contents.c", "api/calloc_zero.c",
            "api/orphans_reused.c", "api/out_of_memory.c", "api/posix_memalign_errno.c",
            "api/aligned_sweep.c", "api/remote_free.c"]
CXX_PROGRAMS = ["static/exceptions.cpp"]
# `fork.under_threads` and `stress.exchange.long` repeat more.
ARGUMENTS = {"stress/exchange.c": ["1"], "fork/under_threads.c": ["60"]}
M32 = ["-m32", "-idirafter", "/usr/include/x86_64-linux-gnu"]

# name: (architecture of the object, C compiler, C++ compiler or nothing, what runs a program)
PLATFORMS = {
    "x86_64-glibc": ("x86_64", ["gcc"], ["g++"], []),
    "x86_64-musl": ("x86_64", ["musl-gcc"], None, []),
    "aarch64-glibc": ("aarch64", ["aarch64-linux-gnu-gcc"], None, ["qemu-aarch64"]),
    "riscv64-glibc": ("riscv64", ["riscv64-linux-gnu-gcc"], None, ["qemu-riscv64"]),
    "armhf-glibc": ("armhf", ["arm-linux-gnueabihf-gcc"], None, ["qemu-arm"]),
    "i386-glibc": ("i386", ["gcc"] + M32, None, []),
}
# Emulated: what is about this processor and this C library, and not as long.
EMULATED_PROGRAMS = ["static/libc_callers.c", "static/before_and_after_main.c",
                     "fork/from_thread.c", "stress/exchange.c", "api/size_sweep.c",
                     "api/realloc_contents.c"] # qemu cannot start threads in a thread's fork

LINKERS = ["bfd", "gold", "lld", "mold"]
WAYS = {
    "static": ["-static"],
    "static-pie": ["-static-pie", "-fPIE"],
    "gc-sections": ["-static", "-ffunction-sections", "-Wl,--gc-sections"],
    "lto": ["-static", "-flto"],
}
# What only the libraries' own allocators have.
OTHER_ALLOCATOR = re.compile(r"\s(_int_malloc|main_arena|__malloc_context|__malloc_alloc_meta|"
                             r"__simple_malloc|__malloc_lock|__bin_chunk)$", re.M)
NOTE = re.compile(r"^\s*loam\s+0x", re.M)


def output(command, environment=None, accept=(0,), with_errors=False):
    result = subprocess.run(command, capture_output=True, text=True, timeout=200,
                            env=None if environment is None else {**os.environ, **environment})
    if result.returncode not in accept:
        raise RuntimeError(f"{' '.join(command)}: status {result.returncode}\n"
                           f"{result.stdout}{result.stderr}")
    return result.stdout + (result.stderr if with_errors else "")


def inspect(program):
    """The program has loam, and no second allocator; a stripped one says so as well."""
    found = OTHER_ALLOCATOR.search(output(["nm", program]))
    if found is not None:
        raise RuntimeError(f"{program} has {found[1]}")
    output(["objcopy", "--strip-all", program, program + ".stripped"], accept=(0, 1))
    for file in (program, program + ".stripped"):
        if os.path.exists(file) and len(NOTE.findall(output(["readelf", "-nW", file]))) != 1:
            raise RuntimeError(f"{file} has not one note of loam's")


@cache
def compiled(compiler, source, flags, folder):
    """The object, compiled once for all that link it."""
    name = "".join((*compiler, *flags, os.path.basename(source))).replace("/", "_")
    path = os.path.join(folder, name + ".o")
    output([*compiler, "-g", "-O1", "-fno-builtin", "-w", "-D_FILE_OFFSET_BITS=64",
            f"-I{TESTS}", f"-I{TESTS}/../include",
            *([] if source.endswith("pp") else ["-std=gnu11"]), f'-DTEST_BIN="{TESTS}"',
            *flags, "-pthread", "-c", os.path.join(TESTS, source), "-o", path])
    return path


def link(compiler, source, first, flags, program):
    of_linker = ("-Wl,", "-fuse-ld=", "-static")
    of_compiler = tuple(flag for flag in flags if not flag.startswith(of_linker))
    made = compiled(tuple(compiler), source, of_compiler, os.path.dirname(program))
    output([*compiler, "-g", "-O1", *first, made, *flags, "-pthread", "-o", program])
    return program


def run(runner, program, arguments):
    build = "emulated" if runner else "static"
    output([*runner, program, *arguments], {"LOAM_TEST_BUILD": build, "LOAM_OPTIONS": ""})


def check(name, compiler, runner, source, first, flags, work):
    program = os.path.join(work, name + "-" + os.path.splitext(os.path.basename(source))[0])
    link(compiler, source, first, flags, program)
    inspect(program)
    run(runner, program, ARGUMENTS.get(source, []))


def platform_checks(name, objects, work):
    arch, compiler, cxx_compiler, runner = PLATFORMS[name]
    first = [os.path.join(objects, f"loam-{arch}.o")]
    for source in EMULATED_PROGRAMS if runner else PROGRAMS:
        yield source, partial(check, name, compiler, runner, source, first, ["-static"], work)
    for source in CXX_PROGRAMS if cxx_compiler else []:
        yield source, partial(check, name, cxx_compiler, runner, source, first, ["-static"], work)


# What the tools cannot do, with any allocator.
IMPOSSIBLE = {
    ("gcc", "gold", "static-pie"), # gold does not know the compiler's --no-dynamic-linker
    *(("musl-gcc", linker, "static-pie") for linker in LINKERS), # its specification has no rcrt1.o
    ("musl-gcc", "lld", "lto"), # lld reads clang's objects only
    ("musl-gcc", "mold", "lto"), # mold fails on GCC's plugin under this specification
}


def linked_with(compiler, linker, way):
    """The command that compiles and the flags that link."""
    flags = [f"-fuse-ld={linker}", *WAYS.get(way, ["-static"])]
    if compiler == "musl-gcc" and linker in ("lld", "mold"):
        # musl-gcc names a dynamic linker, which these two put even into static programs.
        flags.append("-Wl,--no-dynamic-linker")
    return ["clang" if (linker, way) == ("lld", "lto") else compiler], flags


def linker_checks(objects, work, archive):
    whole = ["-Wl,--whole-archive", archive, "-Wl,--no-whole-archive"]
    for compiler in ("gcc", "musl-gcc"):
        for linker in LINKERS:
            for way in [*WAYS, "whole-archive"]:
                if (compiler, linker, way) in IMPOSSIBLE:
                    continue
                first = [os.path.join(objects, "loam-x86_64.o")]
                if way == "whole-archive":
                    first = whole
                command, flags = linked_with(compiler, linker, way)
                yield f"{compiler} {linker} {way}", partial(
                    check, f"{compiler}-{linker}-{way}", command, [], "fork/from_thread.c", first,
                    flags, work)


def must_fail(name, compiler, work):
    try:
        check(name, compiler, [], "fork/from_thread.c", [], ["-static"], work)
    except RuntimeError as error:
        if " has " in str(error):
            return
        raise
    raise RuntimeError("a program without loam has passed")


def checks_of(what, objects, work, archive):
    if what == "self-test":
        return [(compiler, partial(must_fail, "without-" + compiler, [compiler], work))
                for compiler in ("gcc", "musl-gcc")]
    if what == "linkers":
        return linker_checks(objects, work, archive)
    return platform_checks(what, objects, work)


def run_checks(checks, work):
    """Runs pairs of a name and a function that raises what is wrong; gives the exit status."""
    os.makedirs(work, exist_ok=True)
    passed = failed = 0
    for name, do in checks:
        try:
            do()
            passed += 1
        except (RuntimeError, subprocess.TimeoutExpired, OSError) as error:
            failed += 1
            print(f"{name}: {error}")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


def main():
    if len(sys.argv) not in (4, 5):
        sys.exit(__doc__)
    what, objects, work = sys.argv[1:4]
    archive = sys.argv[4] if len(sys.argv) > 4 else ""
    return run_checks(checks_of(what, objects, work, archive), work)


if __name__ == "__main__":
    sys.exit(main())
