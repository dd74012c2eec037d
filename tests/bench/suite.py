#!/usr/bin/env python3
"""Runs the quick command of each row of bench/suite.toml that is a program of our own and has one,
once, with a library preloaded, and checks its status and that its output has every figure that the
row names.

The programs check what they write, so this is also a test of the library.
"""
import concurrent.futures
import os
import re
import shlex
import subprocess
import sys
import tomllib

TIMEOUT_SECONDS = 300
WORKERS = 4 # some rows mostly sleep, and times do not matter here
PROGRAMS = "{programs}/"


def own_rows(suite):
    with open(suite, "rb") as file:
        rows = tomllib.load(file)["row"]
    return [row for row in rows if row.get("quick", "").startswith(PROGRAMS)]


def problem(row, programs, library):
    """What is wrong with a row, or None."""
    words = shlex.split(row["quick"].replace(PROGRAMS, programs + "/"))
    try:
        done = subprocess.run(words, env=dict(os.environ, LD_PRELOAD=library), check=False,
                              capture_output=True, text=True, timeout=TIMEOUT_SECONDS)
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"{row['name']}: {error}"
    if done.returncode != 0:
        return f"{row['name']}: status {done.returncode}\n{done.stdout}{done.stderr}"
    for metric in row.get("metrics", []):
        if re.search(metric["pattern"], done.stdout) is None:
            return f"{row['name']}: no figure {metric['name']} in\n{done.stdout}"
    return None


def main():
    if len(sys.argv) != 4:
        sys.exit(f"usage: {sys.argv[0]} SUITE PROGRAMS LIBRARY")
    suite, programs, library = sys.argv[1:]
    rows = own_rows(suite)
    there = [row for row in rows if os.path.exists(shlex.split(row["quick"])[0]
                                                   .replace(PROGRAMS, programs + "/"))]
    missing = sorted({row["name"] for row in rows} - {row["name"] for row in there})
    found = [f"{name}: its program is not there" for name in missing if "rust" not in name]
    with concurrent.futures.ThreadPoolExecutor(max_workers=WORKERS) as pool:
        found += filter(None, pool.map(lambda row: problem(row, programs, library), there))
    print(*found, f"{len(there)} rows, {len(found)} findings", sep="\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
