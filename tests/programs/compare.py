#!/usr/bin/env python3
"""Runs a script of real programs without loam and with each given library preloaded, and fails
when exit status or standard output differ.

The script runs in an empty folder of its own. What it prints to standard output must not depend
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

TIMEOUT_SECONDS = 120


def run(script, library):
    """(status, standard output, standard error) of the script; library may be None."""
    environment = {name: value for name, value in os.environ.items()
                   if name not in ("LD_PRELOAD", "LOAM_OPTIONS")}
    environment.update(LC_ALL="C.UTF-8", SCRIPT_FOLDER=os.path.dirname(os.path.abspath(script)))
    if library is not None:
        environment["LD_PRELOAD"] = library
    with tempfile.TemporaryDirectory(prefix="loam-programs-") as folder:
        result = subprocess.run(["bash", "-eu", os.path.abspath(script)], cwd=folder,
                                env=environment, capture_output=True, text=True,
                                errors="replace", timeout=TIMEOUT_SECONDS)
    return result.returncode, result.stdout, result.stderr


def preload_takes_effect(library):
    """Whether a process really has the library: a failed preload is but a warning."""
    environment = dict(os.environ, LD_PRELOAD=library)
    maps = subprocess.run(["cat", "/proc/self/maps"], env=environment, capture_output=True,
                          text=True, check=False)
    return maps.returncode == 0 and os.path.realpath(library) in maps.stdout


def differences(expected, actual):
    """What differs between two results of run(), as a list of lines."""
    found = []
    if expected[0] != actual[0]:
        found.append(f"status {actual[0]}, without loam {expected[0]}")
    if expected[1] != actual[1]:
        found += difflib.unified_diff(expected[1].splitlines(), actual[1].splitlines(),
                                      "without", "with", lineterm="", n=1)
    found += [line for line in actual[2].splitlines() if line.startswith("loam: ")]
    return found


def compare(script, libraries):
    expected = run(script, None)
    if expected[0] != 0:
        print(f"{script} fails without loam: status {expected[0]}\n{expected[1]}{expected[2]}")
        return 1
    failures = 0
    for library in libraries:
        if not preload_takes_effect(library):
            print(f"{library} cannot be preloaded")
            return 1
        actual = run(script, library)
        found = differences(expected, actual)
        if found:
            failures += 1
            print(f"{os.path.basename(script)} with {library}:", *found[:60], sep="\n  ")
            print(f"--- its standard error ends with:\n{actual[2][-2000:]}")
    return 1 if failures else 0


def self_test():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "script.sh")
        with open(path, "w", encoding="utf-8") as script:
            script.write("echo ${LD_PRELOAD:-plain}; echo fine >&2; exit 0\n")
        plain = run(path, None)
        assert plain == (0, "plain\n", "fine\n"), plain
    assert differences(plain, plain) == []
    assert differences(plain, (1, "plain\n", ""))
    assert differences(plain, (0, "other\n", ""))
    assert differences(plain, (0, "plain\n", "loam: double free of 0x1 by x+0x1\n"))
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
    return compare(arguments.script, [os.path.realpath(each) for each in arguments.library])


if __name__ == "__main__":
    sys.exit(main())
