#!/usr/bin/env python3
"""A sceptic believes nothing: what is not on loam fails the proof, a failure of the program's is not
hidden, and sums are what the kernel and the program count."""
import json
import re

from support import Service, expect, installed, run, walk, write

PROGRAM = """#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
int main(int count, char **words) {
  static void *blocks[60000];
  size_t bytes = 0;
  if (count > 1) return atoi(words[1]);
  for (int i = 0; i < 60000; i++) {
    size_t size = 16 + 16 * (i % 40);
    bytes += size;
    blocks[i] = memset(malloc(size), 1, size);
  }
  printf("ready\\n%zu\\n", bytes);
  fflush(stdout);
  for (;;) pause();
}
"""


def check_proofs(command, folder):
    said = run(command, "verify", "./program", folder=folder, status=1)
    expect("(as it is)" in said and "all of it is loam's" not in said, said)
    said = run(command, "verify", "./program", folder=folder, status=1,
               environment={"LD_PRELOAD": "/nowhere/libloam.so"})
    expect("/nowhere/libloam.so" in said, said)
    said = run(command, "verify", "--preloaded", "./program", folder=folder)
    expect("(with loam preloaded): all of it is loam's" in said, said)
    run(command, "run", "--option", "bogus=1", "--", "./program", "0", folder=folder, status=125)
    said = run(command, "bench", "--allocator", "/nowhere/x.so", "--", "./program", "0",
               folder=folder, status=2)
    expect(said.startswith("loam: "), said)


def resident(pid):
    with open(f"/proc/{pid}/smaps_rollup", encoding="utf-8") as file:
        return 1024 * int(re.search(r"(?m)^Rss: +([0-9]+) kB", file.read())[1])


def check_sums(command, folder):
    options = ["--option", "profile=on", "--option", "profile_bytes=16"]
    with Service(command, "run", *options, "--", "./program", folder=folder) as process:
        asked = int(process.process.stdout.readline())
        said = json.loads(run(command, "explain", "--json", process.pid))
        parts = [*said["loam"].values(), *said["others"].values()]
        kernel = resident(process.pid)
        expect(abs(sum(parts) - kernel) <= 0.01 * kernel, f"{said} {kernel}")
        live = sum(kind["bytes"] for kind in said["blocks"].values())
        profile = json.loads(run(command, "prof", "--json", process.pid))["live"]["bytes"]
        # All sizes are classes; of stdio's buffer and the loader's the program knows nothing.
        for found in (live, profile):
            expect(asked * 0.99 < found < asked * 1.02 + 65536, f"{found}, asked for {asked}")


def main(release, folder):
    command = installed(release, folder)
    write(folder + "/program.c", PROGRAM)
    run("cc", "-g", "-o", "program", "program.c", folder=folder)
    check_proofs(command, folder)
    check_sums(command, folder)


if __name__ == "__main__":
    walk(main)
