#!/usr/bin/env python3
"""Programs for Windows that Zig's clang and lld link with the UCRT and with LLVM's C++ library.

    zig.py WINE WORK PROCESSOR

Those for x86_64 run under WINE; those for aarch64, which nothing here can run, are linked and
looked into. Zig is the Python module `ziglang`, which run-all.sh installs into build/python; the
status is 77 without it. The first run takes a minute or two: Zig builds its libraries.
"""
import importlib.util
import os
import struct
import subprocess
import sys

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
ROOT = os.path.dirname(TESTS)
SKIPPED = 77
PYTHON_FOLDER = os.path.join(ROOT, "build", "python")
INCLUDES = [f"-I{TESTS}", f"-I{ROOT}/include"]
LOAM = ["-std=c11", "-O2", "-DNDEBUG", "-fno-builtin-malloc", "-Wall", "-Wextra", "-Werror"]
PROGRAM = ["-g", "-O1", "-fno-builtin", "-w", "-static"]
# Zig's name of a processor: the number in a PE file's header, and the tests that are linked.
PROCESSORS = {
    "x86_64": (0x8664, ["operators.cpp", "names.c", "foreign.c", "many_threads.c", "purge.c"]),
    "aarch64": (0xAA64, ["names.c", "foreign.c", "many_threads.c"]),
}


def zig(processor, language, *arguments):
    subprocess.run([sys.executable, "-m", "ziglang", language, "-target",
                    processor + "-windows-gnu", "-fno-sanitize=undefined", *INCLUDES, *arguments],
                   check=True)


def check_file(path, machine):
    """The program is for that processor, has loam, and no thread-local variable is emulated."""
    with open(path, "rb") as file:
        content = file.read()
    start, = struct.unpack_from("<I", content, 0x3C)
    assert content[start:start + 4] == b"PE\0\0", path
    assert struct.unpack_from("<H", content, start + 4)[0] == machine, path
    assert b".loam\0\0\0" in content[:4096], f"{path} has no section .loam"
    assert b"__emutls" not in content, f"{path} has emulated thread-local variables"


def check_processor(processor, wine, work):
    machine, sources = PROCESSORS[processor]
    loam = os.path.join(work, f"loam-{processor}.o")
    zig(processor, "cc", *LOAM, f"-I{ROOT}/src", "-c", f"{ROOT}/src/loam.c", "-o", loam)
    zig(processor, "cc", "-shared", f"{TESTS}/windows/modules/plugin.c", "-o",
        os.path.join(work, "plugin.dll"))
    for source in sources:
        name, kind = os.path.splitext(source)
        program = os.path.join(work, f"{name}-{processor}.exe")
        language = ["c++", "-std=c++17"] if kind == ".cpp" else ["cc", "-std=gnu11"]
        zig(processor, *language, *PROGRAM, loam, f"{TESTS}/windows/{source}", "-o", program)
        check_file(program, machine)
        if processor == "x86_64":
            subprocess.run([wine, program], check=True, timeout=200)
            print(f"{processor} {source}: runs")
        else:
            print(f"{processor} {source}: links")


def main():
    if len(sys.argv) != 4 or sys.argv[3] not in PROCESSORS:
        sys.exit(__doc__)
    wine, processor = sys.argv[1], sys.argv[3]
    work = os.path.join(os.path.abspath(sys.argv[2]), processor) # each has a plugin.dll
    os.makedirs(work, exist_ok=True)
    os.environ["PYTHONPATH"] = PYTHON_FOLDER # for the children
    sys.path.insert(0, PYTHON_FOLDER)
    if importlib.util.find_spec("ziglang") is None:
        print(f"not tested: there is no ziglang in {PYTHON_FOLDER}; tests/run-all.sh installs it")
        return SKIPPED
    check_processor(processor, wine, work)
    return 0


if __name__ == "__main__":
    sys.exit(main())
