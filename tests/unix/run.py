#!/usr/bin/env python3
"""src/os/os_unix.c: linked for macOS and FreeBSD, and run on Linux.

    run.py links WORK        the allocator and a program, for each of TARGETS, by Zig
    run.py programs WORK     what tests/windows takes of ../api and ../stress, on Linux, with
                             stand_ins.h in the place of what only FreeBSD has

Zig is the Python module `ziglang`, which run-all.sh installs into build/python; the status is 77
without it.
"""
import importlib.util
import os
import re
import subprocess
import sys

FOLDER = os.path.dirname(os.path.abspath(__file__))
TESTS = os.path.dirname(FOLDER)
ROOT = os.path.dirname(TESTS)
PYTHON_FOLDER = os.path.join(ROOT, "build", "python")
SKIPPED = 77
# How a program for the target begins.
MACH_O, ELF = b"\xcf\xfa\xed\xfe", b"\x7fELF"
TARGETS = {"x86_64-macos": MACH_O, "aarch64-macos": MACH_O,
           "x86_64-freebsd": ELF, "aarch64-freebsd": ELF}
LOAM = ["-std=gnu11", "-Wall", "-Wextra", "-Werror", "-DLOAM_NO_OVERRIDE", f"-I{ROOT}/include",
        f"-I{ROOT}/src"]
# As if for another system than Linux, of which only FreeBSD is left then.
NOT_LINUX = ["-U__linux__", "-include", f"{FOLDER}/stand_ins.h"]
FORMS = {"fast": [], "checking": ["-DLM_CHECKING=1"]}
PROGRAM = ["-g", "-O1", "-fno-builtin", "-w", "-std=gnu11", "-DTEST_PREFIXED=1", f"-I{TESTS}",
           f"-I{ROOT}/include"]


def link(target, beginning, work):
    program = os.path.join(work, "program-" + target)
    subprocess.run([sys.executable, "-m", "ziglang", "cc", "-target", target, "-O0",
                    "-fno-sanitize=undefined", *LOAM, f"{ROOT}/src/loam.c", f"{FOLDER}/program.c",
                    "-lpthread", "-o", program], check=True)
    with open(program, "rb") as file:
        assert file.read(4) == beginning, program


def link_all(work):
    sys.path.append(PYTHON_FOLDER)
    if importlib.util.find_spec("ziglang") is None:
        print("no Zig in build/python")
        return SKIPPED
    os.environ["PYTHONPATH"] = PYTHON_FOLDER
    for target, beginning in TARGETS.items():
        link(target, beginning, work)
    return 0


def header(text, key, default=()):
    found = re.search(rf"^// {key}: (.*)$", text, re.M)
    return found[1].split() if found else default


def run_program(path, form, loam, work):
    """What is wrong, or nothing."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    if header(text, "windows") != ["yes"] or form not in header(text, "builds", FORMS):
        return None
    program = os.path.join(work, f"{os.path.basename(path)[:-2]}.{form}")
    subprocess.run(["cc", *PROGRAM, loam, path, "-o", program, "-lpthread"], check=True)
    result = subprocess.run([program, *header(text, "arguments")], capture_output=True, text=True,
                            timeout=300, check=False)
    return result.returncode and f"{program}: status {result.returncode}\n{result.stderr}"


def run_all(work):
    wrong, count = [], 0
    for form, flags in FORMS.items():
        loam = os.path.join(work, f"loam-{form}.o")
        subprocess.run(["cc", "-g", "-O1", *NOT_LINUX, *LOAM, *flags, "-c", f"{ROOT}/src/loam.c", "-o",
                        loam], check=True)
        for folder in ("api", "stress"):
            for name in sorted(os.listdir(os.path.join(TESTS, folder))):
                if not name.endswith(".c"):
                    continue
                result = run_program(os.path.join(TESTS, folder, name), form, loam, work)
                count += result is not None
                if result:
                    wrong.append(result)
    print(*wrong, f"{count} programs, {len(wrong)} failed", sep="\n")
    return 1 if wrong or count == 0 else 0


def main():
    if len(sys.argv) != 3 or sys.argv[1] not in ("links", "programs"):
        sys.exit(f"usage: {sys.argv[0]} links|programs WORK")
    os.makedirs(sys.argv[2], exist_ok=True)
    return link_all(sys.argv[2]) if sys.argv[1] == "links" else run_all(sys.argv[2])


if __name__ == "__main__":
    sys.exit(main())
