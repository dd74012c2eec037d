#!/usr/bin/env python3
"""Static programs of C and C++ that Zig links with its musl, on loam, for five processors.

    zig.py OBJECTS LOAM WORK [ARCH ...]

Each is linked with loam's object first, and, where Zig's libc.a has a malloc of its own (0.15 and
before), with that archive grafted as well. OBJECTS is the folder of loam-ARCH.o, LOAM the command,
WORK a folder for programs. Without Zig (`pip install ziglang==0.15.2`; 0.17.1 has the other kind)
nothing is tested and the status is 77. The first run for a processor takes a minute or two: Zig
builds its libraries.
"""
import importlib.util
import os
import shutil
import sys
from functools import partial

from run import ARGUMENTS, CXX_PROGRAMS, EMULATED_PROGRAMS, TESTS, inspect, output, run, run_checks

SKIPPED = 77
ZIG = [sys.executable, "-m", "ziglang"]
# Architecture of loam's object: Zig's target, and what runs a program.
TARGETS = {
    "x86_64": ("x86_64-linux-musl", []),
    "aarch64": ("aarch64-linux-musl", ["qemu-aarch64"]),
    "riscv64": ("riscv64-linux-musl", ["qemu-riscv64"]),
    "armhf": ("arm-linux-musleabihf", ["qemu-arm"]),
    "i386": ("x86-linux-musl", []),
}
CXX_FORMS = [*CXX_PROGRAMS, "api/operator_new.cpp", "api/new_failure.cpp"]


def link(arch, source, first, program):
    """Links and gives what Zig says that it does."""
    driver = ["c++"] if source.endswith("pp") else ["cc", "-std=gnu11"]
    return output([*ZIG, *driver, "-target", TARGETS[arch][0], "-static", "-O1", "-fno-builtin",
                   "-w", "-fno-sanitize=undefined", f"-I{TESTS}", f"-I{TESTS}/../include",
                   f'-DTEST_BIN="{TESTS}"', *first, os.path.join(TESTS, source), "-pthread",
                   "-o", program, "--verbose"], with_errors=True)


def inspect_and_run(arch, source, program, loam):
    inspect(program)
    output([loam, "verify", program])
    run(TARGETS[arch][1], program, ARGUMENTS.get(source, []))


def check_object(arch, source, objects, loam, program):
    link(arch, source, [os.path.join(objects, f"loam-{arch}.o")], program)
    inspect_and_run(arch, source, program, loam)


def check_grafted(arch, source, objects, loam, program):
    """The same link again with a grafted copy of Zig's libc.a in its place."""
    lines = link(arch, source, [], program).splitlines()
    words = next(line for line in reversed(lines) if line.startswith("ld.lld ")).split()
    at = next(i for i, word in enumerate(words) if word.endswith("/libc.a"))
    folder = program + "-libc"
    os.makedirs(folder, exist_ok=True)
    grafted = os.path.join(folder, "libc.a")
    shutil.copy(words[at], grafted)
    output([loam, "graft", grafted, "--objects", objects, "--output", grafted])
    output([*ZIG, *words[:at], grafted, *words[at + 1:]])
    inspect_and_run(arch, source, program, loam)


def has_own_malloc():
    return tuple(map(int, output([*ZIG, "version"]).split(".")[:2])) <= (0, 15)


def checks(objects, loam, work, archs):
    for arch in archs:
        sources = EMULATED_PROGRAMS + (CXX_FORMS if arch == "x86_64" else [])
        for source in sources:
            program = os.path.join(work, f"{arch}-{os.path.splitext(os.path.basename(source))[0]}")
            yield f"{arch} {source}", partial(check_object, arch, source, objects, loam, program)
        # One with threads, forks and libc's own callers shows what a grafted libc.a is worth.
        for source in (sources[:1] + CXX_FORMS[:1] if arch == "x86_64" else sources[:1]):
            if has_own_malloc():
                program = os.path.join(work, f"{arch}-grafted-{os.path.basename(source)[:-2]}")
                yield f"{arch} grafted {source}", partial(check_grafted, arch, source, objects,
                                                          loam, program)


def main():
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    if importlib.util.find_spec("ziglang") is None:
        print("not tested: there is no Zig, pip install ziglang==0.15.2")
        return SKIPPED
    objects, loam, work = map(os.path.abspath, sys.argv[1:4])
    return run_checks(checks(objects, loam, work, sys.argv[4:] or list(TARGETS)), work)


if __name__ == "__main__":
    sys.exit(main())
