#!/usr/bin/env python3
"""What a row's time is made of, with one allocator and with another.

    bench/costs.py ROW=ALLOCATOR[,ALLOCATOR...]...

Runs the row's short form, if it has one, with loam and with the allocators named (build/peers, made
by `make peers`; glibc is the C library's own): three times as it is, the medians of its CPU time in
the program and in the kernel and of its page faults; once under strace, for its system calls; and
once under callgrind, for its instructions and for the accesses that miss a first-level cache of 48
KiB and a second of 2 MiB. Under callgrind threads take turns, so that lines that processors take
from each other are not seen, and what an allocator does by the clock it does some 50 times as
often. Prints a table for docs/decisions/rows-behind.md; `-` is what could not be measured: a line
says why, and the status is 1.

Rows of one command only: those with a server are left out, and what a row needs must be there.
"""
import os
import re
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import tomllib

ROOT = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
RUNS = 3
CACHES = ("--D1=49152,12,64", "--LL=2097152,16,64")
SYNONYMS = "--soname-synonyms=somalloc=nouserintercepts"  # or valgrind puts its own malloc in
TIMEOUT_SECONDS = 600


class Failure(Exception):
    """A run that did not end well; the text says which."""


def library_of(allocator):
    if allocator == "glibc":
        return None
    folder = os.path.join(ROOT, "build", "lib" if allocator == "loam" else "peers")
    path = os.path.join(folder, ("libloam" if allocator == "loam" else allocator) + ".so")
    if not os.path.exists(path):
        sys.exit(f"costs: {path} is not there; `make` builds loam, `make peers` the others")
    return path


def environment_of(allocator):
    library = library_of(allocator)
    environment = dict(os.environ)
    if library is None:
        return environment
    environment["LD_PRELOAD"] = library
    path = library.removesuffix(".so") + ".environment"
    if os.path.exists(path):
        with open(path, encoding="utf-8") as lines:
            environment.update(line.strip().split("=", 1) for line in lines if "=" in line)
    return environment


class Row:
    """A row's command, which runs in an empty folder of its own each time."""

    def __init__(self, row):
        self.name = row["name"]
        command = row.get("quick", row.get("command"))
        if command is None or "setup" in row:
            sys.exit(f"costs: {self.name} is no row of one command")
        self.places = {
            "{programs}": os.path.join(ROOT, "build", "bench"),
            "{bench}": os.path.join(ROOT, "bench"),
            "{data}": os.path.join(ROOT, "build", "bench-data", row.get("prepare", self.name)),
        }
        self.words = [self.placed(word) for word in shlex.split(command)]
        self.input = self.placed(row.get("input", os.devnull))
        self.environment = row.get("environment", {})
        for needed in [self.words[0], *map(self.placed, row.get("needs", []))]:
            if shutil.which(needed) is None and not os.path.exists(needed):
                sys.exit(f"costs: {self.name} needs {needed}, which is not there; "
                         "`build/bin/loam bench suite --prepare` and `make` make what can be made")

    def placed(self, text):
        for name, place in self.places.items():
            text = text.replace(name, place)
        return text

    def run(self, environment, tool=()):
        """The resources that the command took, and what it and the tool wrote as errors."""
        with tempfile.TemporaryDirectory() as folder, open(self.input, "rb") as lines, \
                tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as errors:
            words = [*tool, *(word.replace("{dir}", folder) for word in self.words)]
            with subprocess.Popen(words, stdin=lines, stdout=subprocess.DEVNULL, stderr=errors,
                                  env={**environment, **self.environment}) as process:
                limit = threading.Timer(TIMEOUT_SECONDS, process.kill)
                limit.start()
                _, status, usage = os.wait4(process.pid, 0)
                limit.cancel()
                process.returncode = os.waitstatus_to_exitcode(status)
            if process.returncode != 0:
                under = f" under {tool[0]}" if tool else ""
                raise Failure(f"{self.name} ended with status {process.returncode}{under}")
            errors.seek(0)
            return usage, errors.read()


def system_calls(row, allocator):
    library = library_of(allocator)
    preload = [] if library is None else ["-E", "LD_PRELOAD=" + library]
    with tempfile.NamedTemporaryFile("r", encoding="utf-8") as counts:
        row.run({**environment_of(allocator), "LD_PRELOAD": ""},
                ["strace", "-f", "-c", "-q", "-U", "calls,name", "-o", counts.name, *preload])
        return sum(int(line.split()[0]) for line in counts
                   if re.match(r"\s*\d+ \w", line) and line.split()[1] != "total")


def counts_of(row, allocator):
    """Instructions, and accesses that miss the first cache and the second."""
    with tempfile.TemporaryDirectory() as folder:
        _, errors = row.run(environment_of(allocator), [
            "valgrind", "--tool=callgrind", "--cache-sim=yes", *CACHES, SYNONYMS,
            "--fair-sched=yes", "--trace-children=yes", f"--callgrind-out-file={folder}/%p"])
    collected = re.findall(r"Collected : ([\d ]+)", errors)
    if not collected:
        raise Failure(f"callgrind says nothing of {row.name}")
    # Ir Dr Dw I1mr D1mr D1mw ILmr DLmr DLmw
    sums = [sum(column) for column in zip(*(map(int, line.split()) for line in collected))]
    return sums[0], sums[4] + sums[5], sums[7] + sums[8]


def timed_cells(row, allocator):
    usages = [row.run(environment_of(allocator))[0] for _ in range(RUNS)]
    median = lambda field: statistics.median(getattr(usage, field) for usage in usages)
    return (f"{median('ru_utime'):.2f} s", f"{median('ru_stime'):.2f} s",
            f"{median('ru_minflt'):,.0f}")


def counted_cells(row, allocator):
    instructions, first, second = counts_of(row, allocator)
    return f"{instructions / 1e6:,.0f} M", f"{first / 1e6:.2f} M", f"{second / 1e6:.2f} M"


def measured(cells_of, row, allocator, count):
    """The cells, and whether they could be measured."""
    try:
        return cells_of(row, allocator), True
    except Failure as failure:
        print(f"costs: with {allocator}, {failure}", file=sys.stderr)
        return ("-",) * count, False


def print_line(row, allocator):
    """Whether all of it could be measured."""
    (program, kernel, faults), timed = measured(timed_cells, row, allocator, 3)
    counts, counted = measured(counted_cells, row, allocator, 3)
    (calls,), traced = measured(lambda *of: (f"{system_calls(*of):,}",), row, allocator, 1)
    print("|", " | ".join([row.name, allocator, program, kernel, *counts, faults, calls]), "|",
          flush=True)
    return timed and counted and traced


def main():
    if len(sys.argv) < 2 or any("=" not in argument for argument in sys.argv[1:]):
        sys.exit(__doc__)
    for tool in ("strace", "valgrind"):
        if shutil.which(tool) is None:
            sys.exit(f"costs: {tool} is not there; it is Debian's package of that name")
    with open(os.path.join(ROOT, "bench", "suite.toml"), "rb") as suite:
        rows = {row["name"]: row for row in tomllib.load(suite)["row"]}
    lines = []
    for argument in sys.argv[1:]:
        name, peers = argument.split("=", 1)
        if name not in rows:
            sys.exit(f"costs: {name} is no row of bench/suite.toml")
        row = Row(rows[name])
        lines += [(row, allocator) for allocator in ["loam", *peers.split(",")]]
    for _, allocator in lines:
        library_of(allocator)
    print("| row | allocator | CPU, program | CPU, kernel | instructions | misses, 48 KiB "
          "| misses, 2 MiB | faults | system calls |\n|---|---|--:|--:|--:|--:|--:|--:|--:|")
    return 0 if all([print_line(*line) for line in lines]) else 1


if __name__ == "__main__":
    sys.exit(main())
