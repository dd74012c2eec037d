"""CPU time of the same amount of work done by 2 to 64 threads, by allocator.

    bench/scaling.py ROUNDS PROGRAM TURNS ALLOCATOR=LIBRARY...

PROGRAM is one that takes a number of threads and the turns of each, like build/bench/threads: the
TURNS are shared out. Rounds are shuffled; prints the medians of user and system seconds. Time per
processor is what counts: on few processors the threads share them.
"""
import os
import random
import statistics
import subprocess
import sys

THREADS = (2, 4, 8, 16, 32, 64)


def cpu_seconds(program, threads, turns, library):
    environment = {**os.environ, "LD_PRELOAD": library}
    child = subprocess.Popen([program, str(threads), str(turns // threads)], env=environment,
                             stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    if status != 0:
        sys.exit(f"scaling: {program} with {library} ended with status {status}")
    return usage.ru_utime + usage.ru_stime


def main():
    if len(sys.argv) < 5:
        sys.exit(__doc__)
    rounds, program, turns = int(sys.argv[1]), sys.argv[2], int(sys.argv[3])
    libraries = dict(entry.split("=", 1) for entry in sys.argv[4:])
    seconds = {(name, threads): [] for name in libraries for threads in THREADS}
    for _ in range(rounds):
        for name, threads in random.sample(list(seconds), len(seconds)):
            seconds[name, threads].append(cpu_seconds(program, threads, turns, libraries[name]))
    print(f"{'threads':12}" + "".join(f"{threads:8}" for threads in THREADS))
    for name in libraries:
        medians = (statistics.median(seconds[name, threads]) for threads in THREADS)
        print(f"{name:12}" + "".join(f"{median:8.2f}" for median in medians))


if __name__ == "__main__":
    main()
