#!/usr/bin/env python3
"""What a row's time is made of, with one allocator and with another.

    bench/costs.py ROW=ALLOCATOR[,ALLOCATOR...]...

Runs the row's short form with loam and with the allocators named (build/peers, made by `make
peers`; glibc is the C library's own): three times as it is, the medians of its CPU time in the
program and in the kernel and of its page faults; once under strace, for its system calls; and once
under callgrind, for its instructions and for the accesses that miss a first-level cache of 48 KiB
and a second of 2 MiB. Under callgrind threads take turns, so that lines that processors take from
each other are not seen. Prints a table for docs/decisions/rows-behind.md.
"""
import os
import re
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile
import tomllib

ROOT = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
PROGRAMS = os.path.join(ROOT, "build", "bench")
RUNS = 3
CACHES = ("--D1=49152,12,64", "--LL=2097152,16,64")
SYNONYMS = "--soname-synonyms=somalloc=nouserintercepts"  # or valgrind puts its own malloc in
TIMEOUT_SECONDS = 600


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


def run(command, environment):
    """The resources that the command took."""
    with subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL) as process:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        sys.exit(f"costs: {shlex.join(command)} ended with status {process.returncode}")
    return usage


def system_calls(command, allocator):
    library = library_of(allocator)
    preload = [] if library is None else ["-E", "LD_PRELOAD=" + library]
    with tempfile.NamedTemporaryFile("r", encoding="utf-8") as counts:
        run(["strace", "-f", "-c", "-q", "-U", "calls,name", "-o", counts.name, *preload, *command],
            {**environment_of(allocator), "LD_PRELOAD": ""})
        return sum(int(line.split()[0]) for line in counts
                   if re.match(r"\s*\d+ \w", line) and line.split()[1] != "total")


def counts_of(command, environment):
    """Instructions, and accesses that miss the first cache and the second."""
    with tempfile.TemporaryDirectory() as folder:
        result = subprocess.run(
            ["valgrind", "--tool=callgrind", "--cache-sim=yes", *CACHES, SYNONYMS, "--fair-sched=yes",
             "--trace-children=yes", f"--callgrind-out-file={folder}/%p", *command],
            env=environment, capture_output=True, text=True, timeout=TIMEOUT_SECONDS, check=False)
    if result.returncode != 0:
        sys.exit(f"costs: {shlex.join(command)} ended with status {result.returncode} under "
                 f"callgrind: {result.stderr[-500:]}")
    collected = re.findall(r"Collected : ([\d ]+)", result.stderr)
    if not collected:
        sys.exit(f"costs: callgrind says nothing of {shlex.join(command)}")
    # Ir Dr Dw I1mr D1mr D1mw ILmr DLmr DLmw
    sums = [sum(column) for column in zip(*(map(int, line.split()) for line in collected))]
    return sums[0], sums[4] + sums[5], sums[7] + sums[8]


def command_of(row):
    command = row.get("quick", row.get("command", ""))
    if not command.startswith("{programs}/"):
        sys.exit(f"costs: {row['name']} is no row of one program of bench/programs")
    return shlex.split(command.replace("{programs}", PROGRAMS))


def line_of(row, allocator):
    command = command_of(row)
    environment = environment_of(allocator)
    usages = [run(command, environment) for _ in range(RUNS)]
    median = lambda field: statistics.median(getattr(usage, field) for usage in usages)
    instructions, first, second = counts_of(command, environment)
    return [row["name"], allocator, f"{median('ru_utime'):.2f} s", f"{median('ru_stime'):.2f} s",
            f"{instructions / 1e6:,.0f} M", f"{first / 1e6:.2f} M", f"{second / 1e6:.2f} M",
            f"{median('ru_minflt'):,.0f}", f"{system_calls(command, allocator):,}"]


def main():
    if len(sys.argv) < 2 or any("=" not in argument for argument in sys.argv[1:]):
        sys.exit(__doc__)
    for tool in ("strace", "valgrind"):
        if shutil.which(tool) is None:
            sys.exit(f"costs: {tool} is not there; it is Debian's package of that name")
    with open(os.path.join(ROOT, "bench", "suite.toml"), "rb") as suite:
        rows = {row["name"]: row for row in tomllib.load(suite)["row"]}
    print("| row | allocator | CPU, program | CPU, kernel | instructions | misses, 48 KiB "
          "| misses, 2 MiB | faults | system calls |\n|---|---|--:|--:|--:|--:|--:|--:|--:|")
    for argument in sys.argv[1:]:
        name, peers = argument.split("=")
        if name not in rows:
            sys.exit(f"costs: {name} is no row of bench/suite.toml")
        for allocator in ["loam", *peers.split(",")]:
            print("|", " | ".join(line_of(rows[name], allocator)), "|", flush=True)


if __name__ == "__main__":
    main()
