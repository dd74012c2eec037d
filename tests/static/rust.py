#!/usr/bin/env python3
"""A static Rust program with loam's object, as a native library, ahead of the C library.

    rust.py OBJECTS WORK

OBJECTS is the folder of loam-ARCH.o, WORK one for programs. A target that is not installed is
named and left out.
"""
import os
import sys

from run import TESTS, inspect, output

SOURCE = os.path.join(TESTS, "..", "bench", "programs", "dictionary-rust", "src", "main.rs")
TARGETS = ["x86_64-unknown-linux-gnu", "x86_64-unknown-linux-musl"]


def is_installed(target):
    return os.path.isdir(output(["rustc", "--print", "target-libdir", "--target", target]).strip())


def check(target, work):
    program = os.path.join(work, target)
    output(["rustc", "--edition", "2024", "--target", target, "-C", "target-feature=+crt-static",
            "-L", f"native={work}", "-l", "static:+whole-archive=loam-first", SOURCE,
            "-o", program])
    inspect(program)
    for version in ("1", "2"):
        output([program, version, "4", "40", "500"])


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    objects, work = sys.argv[1:]
    os.makedirs(work, exist_ok=True)
    output(["ar", "rcs", os.path.join(work, "libloam-first.a"),
            os.path.join(objects, "loam-x86_64.o")])
    for target in TARGETS:
        if is_installed(target):
            check(target, work)
            print(f"{target}: passed")
        else:
            print(f"{target}: not installed, not tested")


if __name__ == "__main__":
    main()
