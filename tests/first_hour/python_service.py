#!/usr/bin/env python3
"""An operator has a service in Python that grows, and finds the line with README alone: in the
process that runs, and by a run that Ctrl-C ends."""
import re
import signal
import time

from support import Service, expect, installed, line_of, run, walk, write

# Two lines keep memory through one function; a third one takes as much, and keeps nothing.
SERVICE = """import itertools
import json
import time


class Session:
    def __init__(self, size):
        self.buffer = bytearray(size)


SESSIONS, HISTORY = [], []


def buffer_of(size):
    return bytearray(size)


def remember(size):
    HISTORY.append(buffer_of(size))  # leak


def log(size):
    HISTORY.append(buffer_of(size))  # small


def answer(size):
    return json.dumps(buffer_of(size).decode())


def serve():
    for number in itertools.count():
        SESSIONS.append(Session(1000))
        del SESSIONS[:-100]
        remember(60000)
        log(6000)
        answer(60000)
        if number == 50:
            print("ready", flush=True)
        time.sleep(0.004)


serve()
"""


def first_place(report):
    """The line of the first row of `loam prof`."""
    rows = re.findall(r"(?m)^ .*  (\S+  \S*service\.py:[0-9]+)$", report)
    expect(rows, report)
    return rows[0].split("  ")


def main(release, folder):
    command = installed(release, folder)
    write(folder + "/service.py", SERVICE)
    leak = line_of(SERVICE, "# leak")
    python = {"PYTHONMALLOC": "malloc"}
    with Service(command, "run", "--", "python3", "service.py", folder=folder,
                 environment=python) as service:
        said = run(command, "prof", "--start", service.pid)
        expect("a profile is taken" in said, said)
        time.sleep(4)
        said = run(command, "prof", service.pid)
        function, place = first_place(said)
        expect(function == "remember" and place.endswith(f"service.py:{leak}"), said)
        expect(re.search(r"through buffer_of", said) and re.search(r"from serve", said), said)
        said = run(command, "doctor", service.pid)
        expect(re.search(rf"(?m)^1\. .* live, in .*\n   at remember  .*service.py:{leak}$", said), said)
    service = Service(command, "prof", "--", "python3", "service.py", folder=folder)
    with service:
        time.sleep(2)
        said = service.end(signal.SIGINT)
        expect("these are the places of the peak" in said, said)
        function, place = first_place(said)
        expect(function == "remember" and place.endswith(f"service.py:{leak}"), said)
    with Service("python3", "service.py", folder=folder) as service:
        said = run(command, "explain", service.pid)
        expect("\non glibc 2." in said and "\nOn loam it would have " in said, said)
        expect(re.search(r"loam run -- \S*python3 service\.py\n", said), said)


if __name__ == "__main__":
    walk(main)
