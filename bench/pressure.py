"""The smallest memory limit of a control group under which a program still ends well, by allocator.

    bench/pressure.py ROUNDS ALLOCATOR=LIBRARY... -- PROGRAM [ARGUMENT...]

Needs root and control groups of version 1, without swap. Prints the limit in MiB, the median of
ROUNDS searches, and the seconds that the program takes with a tenth more than that.
"""
import os
import statistics
import subprocess
import sys
import time

GROUP = "/sys/fs/cgroup/memory/loam-pressure"
MOST_BYTES = 4 << 30
TIMED_RUNS = 5


def enter_group():
    with open(GROUP + "/cgroup.procs", "w") as file:
        file.write(str(os.getpid()))


def run(command, library, limit):
    """Whether the program ended well, and its seconds."""
    with open(GROUP + "/memory.limit_in_bytes", "w") as file:
        file.write(str(limit))
    began = time.monotonic()
    done = subprocess.run(command, env={**os.environ, "LD_PRELOAD": library},
                          preexec_fn=enter_group, stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL)
    return done.returncode == 0, time.monotonic() - began


def smallest_limit(command, library):
    low, high = 1 << 20, MOST_BYTES
    while high > low * 1.02:
        middle = int((low * high) ** 0.5)
        if run(command, library, middle)[0]:
            high = middle
        else:
            low = middle
    return high


def main():
    if "--" not in sys.argv[3:]:
        sys.exit(__doc__)
    end = sys.argv.index("--")
    rounds, command = int(sys.argv[1]), sys.argv[end + 1:]
    os.makedirs(GROUP, exist_ok=True)
    try:
        for name, library in (entry.split("=", 1) for entry in sys.argv[2:end]):
            limit = statistics.median(smallest_limit(command, library) for _ in range(rounds))
            runs = [run(command, library, int(limit * 1.1)) for _ in range(TIMED_RUNS)]
            seconds = [duration for good, duration in runs if good]
            median = f"{statistics.median(seconds):8.3f} s" if seconds else "never"
            print(f"{name:12}{limit / 2**20:8.1f} MiB {median}, {len(seconds)} of {TIMED_RUNS}",
                  flush=True)
    finally:
        os.rmdir(GROUP)


if __name__ == "__main__":
    main()
