#!/usr/bin/env python3
"""Programs for Windows under wine, with the C runtime's own heap and with loam, on 1 to 8 threads.

    bench/windows.py FOLDER [ROUNDS]

Builds threads, larson and mixed of bench/programs in FOLDER with MinGW, each with and without loam's
object, and runs them in shuffled rounds, three if not told. The same work is shared out among the
threads. Prints the medians, and from what to what, of the seconds that the programs say they took,
so without wine's own start. Wine's heap is not that of Windows.
"""
import os
import random
import re
import statistics
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
WINE = os.path.join(ROOT, "tests", "windows", "wine.sh")
COMPILER = ["x86_64-w64-mingw32-gcc-posix", "-O2", "-fno-builtin-malloc"]
THREADS = (1, 2, 4, 8)
# The arguments of each for a number of threads.
PROGRAMS = {
    "threads": lambda threads: (threads, 1_500_000 // threads),
    "larson": lambda threads: (threads, 1000, 8, 1000, 8, 30_000 // threads),
    "mixed": lambda threads: (threads, 4, 100_000 // threads),
}
HEAPS = ("runtime", "loam")


def build(folder):
    os.makedirs(folder, exist_ok=True)
    loam = os.path.join(folder, "loam.o")
    subprocess.run([*COMPILER, "-std=c11", "-DNDEBUG", "-fno-stack-protector",
                    "-I" + os.path.join(ROOT, "include"), "-I" + os.path.join(ROOT, "src"),
                    "-c", os.path.join(ROOT, "src", "loam.c"), "-o", loam], check=True)
    for program in PROGRAMS:
        source = os.path.join(ROOT, "bench", "programs", program + ".c")
        for heap in HEAPS:
            subprocess.run([*COMPILER, *([loam] if heap == "loam" else []), source, "-static",
                            "-lpthread", "-o", path_of(folder, program, heap)], check=True)


def path_of(folder, program, heap):
    return os.path.join(folder, f"{program}-{heap}.exe")


def seconds(folder, program, heap, threads):
    command = [WINE, path_of(folder, program, heap), *map(str, PROGRAMS[program](threads))]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    match = re.search(r": ([0-9.]+) s,", result.stdout)
    if result.returncode != 0 or match is None:
        sys.exit(f"windows: {' '.join(command)} ended with status {result.returncode}: "
                 + result.stderr)
    return float(match[1])


def cell(times):
    return f" {statistics.median(times):.2f} ({min(times):.2f} to {max(times):.2f}) |"


def table(found):
    yield "| program | heap |" + "".join(f" {threads} |" for threads in THREADS)
    yield "|---|---|" + "--:|" * len(THREADS)
    for program in PROGRAMS:
        for heap in HEAPS:
            cells = (cell(found[program, heap, threads]) for threads in THREADS)
            yield f"| {program} | {heap} |" + "".join(cells)


def main():
    if len(sys.argv) not in (2, 3):
        print(__doc__, file=sys.stderr)
        return 2
    folder, rounds = sys.argv[1], int(sys.argv[2]) if len(sys.argv) == 3 else 3
    os.environ["LOAM_WINE_PREFIX"] = os.path.join(os.path.abspath(folder), "wine")
    build(folder)
    found = {(program, heap, threads): []
             for program in PROGRAMS for heap in HEAPS for threads in THREADS}
    subprocess.run([WINE, "--start"], check=True)
    try:
        for _ in range(rounds):
            for run in random.sample(list(found), len(found)):
                found[run].append(seconds(folder, *run))
    finally:
        subprocess.run([WINE, "--end"], check=False)
    print("\n".join(table(found)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
