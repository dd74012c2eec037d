#!/usr/bin/env python3
"""Runs every case of cases.cpp alone and under libraries, and tells who stops which.

    table.py PROGRAM fast=LIBRARY hardened=LIBRARY checking=LIBRARY [--write DOCUMENT | --check DOCUMENT]
    table.py --self-test

A case is stopped if its program ends with SIGABRT, after a line of the allocator's. LATER is a program that has
had a hundred thousand blocks before. --write puts the table
into the document, between its two marks. --check fails if the fast build stops less than glibc in any kind,
LATER in those of FOUND_LATER, if a case that the document says is stopped no longer is, or if a number of stops
falls below MINIMUM; the cases LATER are shown only, since some of it depends on the clock.
"""
import argparse
import concurrent.futures
import os
import re
import signal
import subprocess
import sys

MINIMUM = {"fast": 80, "hardened": 100, "checking": 100}
BEGIN, END = "<!-- table.py -->\n", "<!-- end -->\n"
STOPPED, CRASHED, MISSED = "stopped", "crashed", "-"
LATER = ", later"
FOUND_LATER = ["double free", "invalid free"]


def run(program, name, library, later):
    """How one case ends: STOPPED, CRASHED or MISSED."""
    environment = dict(os.environ, LD_PRELOAD=library) if library else dict(os.environ)
    environment.pop("LOAM_OPTIONS", None)
    command = [program, name] + (["later"] if later else [])
    result = subprocess.run(command, env=environment, capture_output=True, text=True, errors="replace",
                            timeout=200, check=False)
    if result.returncode == -signal.SIGABRT and result.stderr:
        if library and not re.search(r"^loam: ", result.stderr, re.MULTILINE):
            sys.exit(f"{name}: aborted without a line of loam's:\n{result.stderr}")
        return STOPPED
    if result.returncode < 0:
        return CRASHED
    if result.returncode != 0:
        sys.exit(f"{name}: status {result.returncode} under {library or 'glibc'}\n{result.stderr}")
    return MISSED


def measure(program, libraries):
    """{(kind, name, text): {build: how it ends}} in the order of the cases. Builds end with LATER or not."""
    listing = subprocess.run([program], capture_output=True, text=True, check=True).stdout
    cases = [tuple(line.split("\t")) for line in listing.splitlines()]
    builds = [build + later for build in libraries for later in ("", LATER)]
    jobs = [(case, build) for case in cases for build in builds]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        ends = pool.map(lambda job: run(program, job[0][1], libraries[job[1].removesuffix(LATER)],
                                             job[1].endswith(LATER)), jobs)
        found = {case: {} for case in cases}
        for (case, build), end in zip(jobs, ends):
            found[case][build] = end
    return found


def stops(found, build, kind=None):
    return sum(ends.get(build) == STOPPED for case, ends in found.items() if kind in (None, case[0]))


def kinds_of(found):
    return list(dict.fromkeys(case[0] for case in found))


def table(found, builds):
    """The document's part: sums by kind, then every case."""
    lines = ["| kind | cases | " + " | ".join(builds) + " |", "|---|---|" + "---|" * len(builds)]
    for kind in kinds_of(found) + [None]:
        count = sum(kind in (None, case[0]) for case in found)
        sums = " | ".join(str(stops(found, build, kind)) for build in builds)
        lines.append(f"| {kind or 'all'} | {count} | {sums} |")
    for kind in kinds_of(found):
        lines += ["", f"### {kind[0].upper()}{kind[1:]}", "", "| what | " + " | ".join(builds) + " |",
                  "|---|" + "---|" * len(builds)]
        lines += [f"| {case[2]} | " + " | ".join(ends[build] for build in builds) + " |"
                  for case, ends in found.items() if case[0] == kind]
    return "\n".join(lines) + "\n"


def problems(found, document):
    """What is worse than it has to be, and than the document says."""
    for build, least in MINIMUM.items():
        if stops(found, build) < least:
            yield f"{build} stops {stops(found, build)} cases, {least} at least"
    for kind in kinds_of(found):
        if stops(found, "fast", kind) < stops(found, "glibc", kind):
            yield f"{kind}: fast stops {stops(found, 'fast', kind)}, glibc {stops(found, 'glibc', kind)}"
    for kind in FOUND_LATER:
        fast, glibc = stops(found, "fast" + LATER, kind), stops(found, "glibc" + LATER, kind)
        if fast < glibc:
            yield f"{kind}, later: fast stops {fast}, glibc {glibc}"
    rows = {cells[0]: cells[1:] for cells in
            ([cell.strip() for cell in line.strip("|\n").split("|")] for line in document.splitlines())}
    for case, ends in found.items():
        documented = rows.get(case[2])
        if documented is None:
            yield f"{case[1]}: not in the document"
            continue
        for build, said in zip(ends, documented):
            if build in MINIMUM and said == STOPPED and ends[build] != STOPPED:
                yield f"{case[1]}: {build}: {ends[build]}, the document says {said}"


def self_test():
    a, b = ("k", "a", "text a"), ("k", "b", "text b")
    builds = ["glibc", "fast", "hardened", "checking"]
    found = {a: {"glibc": STOPPED, "fast": STOPPED, "hardened": STOPPED, "checking": MISSED},
             b: dict.fromkeys(builds, MISSED)}
    late = ("double free", "c", "text c")
    text = table(found, builds)
    assert "| k | 2 | 1 | 1 | 1 | 0 |" in text, text
    assert "| text a | stopped | stopped | stopped | - |" in text, text
    few = [line for line in problems(found, text) if "at least" not in line]
    assert few == [], few
    found[a]["fast"] = MISSED
    said = [line for line in problems(found, text) if "at least" not in line]
    assert said == ["k: fast stops 0, glibc 1", "a: fast: -, the document says stopped"], said
    found = {late: {"glibc": MISSED, "fast": MISSED, "hardened": MISSED, "checking": MISSED,
                    "glibc" + LATER: STOPPED, "fast" + LATER: MISSED}}
    said = [line for line in problems(found, table(found, builds)) if "at least" not in line]
    assert said == ["double free, later: fast stops 0, glibc 1"], said
    return 0


def main():
    if sys.argv[1:] == ["--self-test"]:
        return self_test()
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("libraries", nargs="+", metavar="BUILD=LIBRARY")
    parser.add_argument("--write", metavar="DOCUMENT")
    parser.add_argument("--check", metavar="DOCUMENT")
    arguments = parser.parse_args()
    libraries = {"glibc": ""} | dict(entry.split("=", 1) for entry in arguments.libraries)
    found = measure(arguments.program, libraries)
    text = table(found, list(next(iter(found.values()))))
    print(text)
    if arguments.write:
        with open(arguments.write, encoding="utf-8") as file:
            before, _, rest = file.read().partition(BEGIN)
        with open(arguments.write, "w", encoding="utf-8") as file:
            file.write(before + BEGIN + text + END + rest.partition(END)[2])
    found_problems = []
    if arguments.check:
        with open(arguments.check, encoding="utf-8") as file:
            found_problems = list(problems(found, file.read()))
    print(*found_problems, sep="\n")
    return 1 if found_problems else 0


if __name__ == "__main__":
    sys.exit(main())
