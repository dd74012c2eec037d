#!/usr/bin/env python3
"""Checks the limits in bench/limits with a program whose amounts are known.

liblive.so counts exactly: two runs whose peaks differ by so many requested bytes have counts that
differ by exactly so many, whatever the C library allocates for itself. libbump.so serves every
call, never uses memory twice and ends at its limit with ENOMEM.
"""
import os
import signal
import subprocess
import sys
import tempfile

SMALL_BYTES, LARGE_BYTES = 800_000, 80_000_000
WAYS = {"calls": 0, "threads": 0, "fork": 0, "killed": -signal.SIGKILL}


def run(program, library, way, size_bytes, folder=None):
    environment = dict(os.environ, LD_PRELOAD=library)
    if folder is not None:
        environment["LOAM_BENCH_LIVE"] = folder
    return subprocess.run([program, way, str(size_bytes)], env=environment, check=False,
                          timeout=200).returncode


def peaks(program, live, way, size_bytes):
    """The exit status, and the peaks of all processes, the largest first."""
    with tempfile.TemporaryDirectory(prefix="loam-live-") as folder:
        status = run(program, live, way, size_bytes, folder)
        counts = []
        for name in os.listdir(folder):
            with open(os.path.join(folder, name), "rb") as file:
                counts.append(int.from_bytes(file.read(), sys.byteorder))
        return status, sorted(counts, reverse=True)


def check_live(program, live):
    for way, expected in WAYS.items():
        small_status, small = peaks(program, live, way, SMALL_BYTES)
        large_status, large = peaks(program, live, way, LARGE_BYTES)
        if (small_status, large_status) != (expected, expected):
            yield f"live, {way}: status {small_status} and {large_status}, not {expected}"
            continue
        if len(small) != (2 if way == "fork" else 1) or len(large) != len(small):
            yield f"live, {way}: {len(small)} and {len(large)} files"
            continue
        if large[0] - small[0] != LARGE_BYTES - SMALL_BYTES:
            yield f"live, {way}: peaks {small[0]} and {large[0]} do not differ by what they should"
        if way == "fork" and small[1:] != large[1:]:
            yield f"live, {way}: the parent's peaks are {small[1]} and {large[1]}"


def check_bump(program, bump):
    for way, size_bytes in [("bump", 0)] + [(way, LARGE_BYTES) for way in WAYS]:
        status, expected = run(program, bump, way, size_bytes), WAYS.get(way, 0)
        if status != expected:
            yield f"bump, {way}: status {status}, not {expected}"


def main():
    if len(sys.argv) != 4:
        sys.exit(f"usage: {sys.argv[0]} PROGRAM LIBLIVE LIBBUMP")
    program, live, bump = sys.argv[1:]
    found = [*check_live(program, live), *check_bump(program, bump)]
    if run(program, "", "bump", 0) == 0:
        found.append("bump: the check passes without it, too")
    print(*found, f"{len(found)} findings", sep="\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
