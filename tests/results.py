#!/usr/bin/env python3
"""What a run of ctest says beyond passed and failed.

    results.py --times RESULTS PHASES   seconds by part of the run, and by folder of tests, the
                                        longest first
    results.py --skipped RESULTS LOG    one line: which tests were skipped, and why

RESULTS is what ctest printed, LOG is its LastTest.log, where a skipped test says why in the first
line of its output. PHASES has a line for each part of the run: its name, the seconds since the
start, and the processors' time of all children until then, as bash's `times` prints it.
"""
import collections
import re
import sys

LINE = re.compile(r"Test +#\d+: (\S+) \.*\** *(Passed|\S+) +([0-9.]+) sec")


def read(path):
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read()


def tests(results):
    """The name, the outcome and the seconds of each test."""
    for name, outcome, seconds in LINE.findall(results):
        yield name, outcome.lstrip("*"), float(seconds)


def phase_times(phases):
    seconds_before, used_before = 0, 0
    for line in phases.splitlines():
        name, seconds, *parts = line.split()
        used = sum(60 * float(minutes) + float(rest)
                   for minutes, rest in (part.rstrip("s").split("m") for part in parts))
        yield (f"tests: {name}: {int(seconds) - seconds_before} s, "
               f"{used - used_before:.0f} s of processors")
        seconds_before, used_before = int(seconds), used


def folder_times(results):
    seconds, counts = collections.Counter(), collections.Counter()
    for name, _, taken in tests(results):
        folder = name.split(".")[0]
        seconds[folder] += taken
        counts[folder] += 1
    for folder, taken in seconds.most_common():
        yield f"tests: {folder}: {taken:.1f} s in {counts[folder]} tests"


def reason(name, log):
    """The first line that the test printed."""
    test = re.search(rf"Test: {re.escape(name)}\n.*?^Output:\n-+\n(.*?)<end of output>", log,
                     re.DOTALL | re.MULTILINE)
    lines = test.group(1).strip().splitlines() if test else []
    return lines[0] if lines else "it says nothing"


def skipped(results, log):
    """Tests with the same reason together."""
    names = collections.defaultdict(list)
    for name, outcome, _ in tests(results):
        if outcome == "Skipped":
            names[reason(name, log)].append(name)
    if not names:
        return "tests: none was skipped"
    return "tests: skipped: " + "; ".join(
        f"{' '.join(group)} ({why})" for why, group in names.items())


def main(arguments):
    if len(arguments) == 3 and arguments[0] == "--times":
        print(*phase_times(read(arguments[2])), *folder_times(read(arguments[1])), sep="\n")
    elif len(arguments) == 3 and arguments[0] == "--skipped":
        print(skipped(read(arguments[1]), read(arguments[2])))
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main(sys.argv[1:])
