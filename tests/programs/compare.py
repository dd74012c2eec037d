#!/usr/bin/env python3
"""Runs a script of real programs without loam and with each given library preloaded, and fails
when exit status or standard output differ, or a process holds far more mappings or memory.

The script runs in an empty folder of its own; $KEPT is one that all its runs share. What it prints to standard output must not depend
on time, process ids or addresses; standard error is shown on failure, not compared, but must not
have a line from loam. Status 77 of the first run means that a program is missing: a failure,
because run-all.sh installs what is needed.
"""
import argparse
import difflib
import os
import subprocess
import sys
import tempfile
from collections import namedtuple

import footprint

TIMEOUT_SECONDS = 300

Result = namedtuple("Result", "status output errors footprint")


def run(script, library, kept=""):
    """The Result of the script; library may be None."""
    environment = {name: value for name, value in os.environ.items()
                   if name not in ("LD_PRELOAD", "LOAM_OPTIONS")}
    environment.update(LC_ALL="C.UTF-8", SCRIPT_FOLDER=os.path.dirname(os.path.abspath(script)),
                       KEPT=kept)
    if library is not None:
        environment["LD_PRELOAD"] = library
    with tempfile.TemporaryDirectory(prefix="loam-programs-") as folder:
        with open(os.path.join(folder, ".output"), "w+", errors="replace", encoding="utf-8") as output, \
             open(os.path.join(folder, ".errors"), "w+", errors="replace", encoding="utf-8") as errors:
            status, held = footprint.run(["bash", "-eu", os.path.abspath(script)], TIMEOUT_SECONDS,
                                         cwd=folder, env=environment, stdout=output, stderr=errors)
            output.seek(0)
            errors.seek(0)
            return Result(status, output.read(), errors.read(), held)


def preload_takes_effect(library):
    """Whether a process really has the library: a failed preload is but a warning."""
    environment = dict(os.environ, LD_PRELOAD=library)
    maps = subprocess.run(["cat", "/proc/self/maps"], env=environment, capture_output=True,
                          text=True, check=False)
    return maps.returncode == 0 and os.path.realpath(library) in maps.stdout


def limit(plain, build):
    """The Footprint that one with loam may not exceed, of the one without."""
    times = 1 if build == "libloam.so" else 2
    return footprint.Footprint(2 * times * plain.maps_count + 500,
                               2 * times * plain.resident_kib + 64 * 1024)


def differences(expected, actual, build="libloam.so"):
    """What differs between two results of run(), as a list of lines."""
    found = []
    if expected.status != actual.status:
        found.append(f"status {actual.status}, without loam {expected.status}")
    if expected.output != actual.output:
        found += difflib.unified_diff(expected.output.splitlines(), actual.output.splitlines(),
                                      "without", "with", lineterm="", n=1)
    found += [line for line in actual.errors.splitlines() if line.startswith("loam: ")]
    most = limit(expected.footprint, build)
    if actual.footprint.maps_count > most.maps_count or actual.footprint.resident_kib > most.resident_kib:
        found.append(f"more than {most}: {actual.footprint}")
    return found


def compare(script, libraries, kept):
    expected = run(script, None, kept)
    if expected.status != 0:
        print(f"{script} fails without loam: status {expected.status}\n{expected.output}{expected.errors}")
        return 1
    print(f"of one process at most, without loam: {expected.footprint}")
    failures = 0
    for library in libraries:
        if not preload_takes_effect(library):
            print(f"{library} cannot be preloaded")
            return 1
        build = os.path.basename(library)
        actual = run(script, library, kept)
        print(f"with {build}: {actual.footprint}")
        found = differences(expected, actual, build)
        if found:
            failures += 1
            print(f"{os.path.basename(script)} with {library}:", *found[:60], sep="\n  ")
            print(f"--- its standard error ends with:\n{actual.errors[-2000:]}")
    return 1 if failures else 0


def self_test():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "script.sh")
        with open(path, "w", encoding="utf-8") as script:
            script.write("echo ${LD_PRELOAD:-plain}; echo fine >&2\n"
                         "python3 -c 'import time; kept = bytes(range(256)) * 400000; time.sleep(2)'\n"
                         "setsid sleep 1000 &\n")
        plain = run(path, None)
    assert plain[:3] == (0, "plain\n", "fine\n"), plain
    held = plain.footprint
    assert held.maps_count > 20 and 100000 < held.resident_kib < 300000, held
    assert footprint.descendants(os.getpid()) == []
    assert differences(plain, plain) == []
    assert differences(plain, plain._replace(status=1))
    assert differences(plain, plain._replace(output="other\n"))
    assert differences(plain, plain._replace(errors="loam: double free of 0x1 by x+0x1\n"))
    most = limit(held, "libloam.so")
    for larger in (footprint.Footprint(most.maps_count + 1), footprint.Footprint(0, most.resident_kib + 1)):
        assert differences(plain, plain._replace(footprint=larger))
        assert differences(plain, plain._replace(footprint=larger), "libloam-checking.so") == []
    assert not preload_takes_effect("/nonexistent/libloam.so")
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--library", action="append", default=[], help="a library to preload")
    parser.add_argument("--self-test", action="store_true")
    parser.add_argument("script", nargs="?")
    arguments = parser.parse_args()
    if arguments.self_test:
        return self_test()
    if not arguments.library or arguments.script is None:
        parser.error("a script and at least one --library are needed")
    libraries = [os.path.abspath(each) for each in arguments.library]
    with tempfile.TemporaryDirectory(prefix="loam-programs-") as kept:
        return compare(arguments.script, libraries, kept)


if __name__ == "__main__":
    sys.exit(main())
