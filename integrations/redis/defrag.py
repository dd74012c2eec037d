#!/usr/bin/env python3
"""What active defragmentation gives back, and what it costs: fills a Redis with values of many sizes,
deletes most of them at random, and lets it defragment while a client measures.

    defrag.py SERVER [MIB]

Prints one line of JSON: resident memory full, after the deletes and after defragmentation, what was
live, and the client's latencies meanwhile.
"""
import json
import os
import random
import socket
import subprocess
import sys
import tempfile
import time

KEPT = 0.25
SECONDS_MOST = 120


class Client:
    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        for _ in range(500):
            try:
                self.socket.connect(path)
                break
            except OSError:
                time.sleep(0.02)
        self.file = self.socket.makefile("rb")

    def send(self, *commands):
        out = bytearray()
        for command in commands:
            words = [word if isinstance(word, bytes) else str(word).encode() for word in command]
            out += b"*%d\r\n" % len(words)
            for word in words:
                out += b"$%d\r\n%s\r\n" % (len(word), word)
        self.socket.sendall(out)
        return [self.answer() for _ in commands]

    def answer(self):
        line = self.file.readline()
        if line[:1] == b"-":
            raise RuntimeError(line.decode())
        if line[:1] == b"$":
            size = int(line[1:])
            return self.file.read(size + 2)[:-2] if size >= 0 else None
        return line[1:].strip()

    def info(self, section):
        text = self.send(["info", section])[0].decode()
        return dict(line.split(":", 1) for line in text.splitlines() if ":" in line)


def resident_mib(pid):
    with open(f"/proc/{pid}/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20


def fill(client, mib, rng):
    keys, size_sum, batch = 0, 0, []
    while size_sum < mib << 20:
        size = min(int(rng.lognormvariate(5.5, 1.0)) + 8, 16000)
        kind = keys % 4
        if kind == 3:
            batch.append(["hset", f"h{keys}", "a", b"v" * (size // 2), "b", b"w" * (size // 2)])
        else:
            batch.append(["set", f"k{keys}", b"v" * size])
        keys, size_sum = keys + 1, size_sum + size
        if len(batch) == 500:
            client.send(*batch)
            batch = []
    client.send(*batch) if batch else None
    return keys


def thin_out(client, keys, rng):
    batch = []
    for key in range(keys):
        if rng.random() >= KEPT:
            batch.append(["del", f"h{key}" if key % 4 == 3 else f"k{key}"])
        if len(batch) == 500:
            client.send(*batch)
            batch = []
    client.send(*batch) if batch else None


def latencies(client, keys, rng, goes_on):
    times = []
    while goes_on():
        key = f"k{rng.randrange(keys)}"
        start = time.perf_counter()
        client.send(["get", key])
        times.append(time.perf_counter() - start)
        time.sleep(0.0002)
    times.sort()
    return {f"p{share}_us": round(times[int(len(times) * share / 100)] * 1e6)
            for share in (50, 99, 99.9)}


def for_seconds(seconds):
    end = time.monotonic() + seconds
    return lambda: time.monotonic() < end


def while_it_defragments(client):
    """Until it has not been at it for five seconds."""
    end, seen, looked = time.monotonic() + SECONDS_MOST, time.monotonic(), 0.0

    def goes_on():
        nonlocal seen, looked
        now = time.monotonic()
        if now - looked >= 1:
            looked = now
            if client.info("memory")["active_defrag_running"] != "0":
                seen = now
        return now < min(end, seen + 5)
    return goes_on


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    mib = int(sys.argv[2]) if len(sys.argv) > 2 else 200
    rng = random.Random(5)
    with tempfile.TemporaryDirectory() as work:
        path = os.path.join(work, "socket")
        with subprocess.Popen([sys.argv[1], "--port", "0", "--unixsocket", path, "--save", "",
                               "--dir", work, "--active-defrag-ignore-bytes", "1mb",
                               "--active-defrag-threshold-lower", "5"],
                              stdout=subprocess.DEVNULL) as server:
            try:
                client = Client(path)
                allocator = client.info("memory")["mem_allocator"]
                keys = fill(client, mib, rng)
                full = resident_mib(server.pid)
                thin_out(client, keys, rng)
                quiet = latencies(client, keys, rng, for_seconds(5))
                before = resident_mib(server.pid)
                client.send(["config", "set", "activedefrag", "yes"])
                start = time.monotonic()
                meanwhile = latencies(client, keys, rng, while_it_defragments(client))
                memory, stats = client.info("memory"), client.info("stats")
                print(json.dumps({
                    "allocator": allocator, "full_mib": round(full), "before_mib": round(before),
                    "after_mib": round(resident_mib(server.pid)),
                    "live_mib": round(int(memory["used_memory"]) / 2**20),
                    "seconds": round(time.monotonic() - start), "moved": int(stats["active_defrag_hits"]),
                    "stayed": int(stats["active_defrag_misses"]),
                    "quiet": quiet, "meanwhile": meanwhile}))
            finally:
                server.terminate()


if __name__ == "__main__":
    main()
