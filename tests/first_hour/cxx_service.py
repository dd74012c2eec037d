#!/usr/bin/env python3
"""A developer has a server in C++ with a leak, blocks that pin, and a cache, and is told of each as
what it is, by its line and its size, which the server knows."""
import json
import signal

from support import Service, expect, installed, line_of, run, walk, write

SERVER = """#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <unistd.h>
#include <vector>

static void *checked(std::size_t size) {
  void *block = std::malloc(size);
  if (block == nullptr) std::abort();
  return std::memset(block, 1, size);
}

static std::vector<void *> leaked, sessions, kept;
static std::vector<std::string> cache;

__attribute__((noinline)) static void leak() {
  leaked.push_back(checked(1008)); // leak
}

__attribute__((noinline)) static void *session() {
  return checked(480); // pin
}

__attribute__((noinline)) static void fill_cache() {
  cache.emplace_back(32000, 'x'); // cache
}

static volatile sig_atomic_t more;
static void on_signal(int) { more = 1; }

int main() {
  std::signal(SIGUSR1, on_signal);
  cache.reserve(2000);
  for (int i = 0; i < 40000; i++) sessions.push_back(session());
  for (int i = 0; i < 40000; i++)
    if (i % 8 == 0) kept.push_back(sessions[i]);
    else std::free(sessions[i]);
  for (int i = 0; i < 40000; i++) leak();
  for (int i = 0; i < 2000; i++) fill_cache();
  for (;;) {
    std::puts("ready");
    std::fflush(stdout);
    while (!more) pause();
    more = 0;
    for (int i = 0; i < 20000; i++) leak();
  }
}
"""
# As one page has each of the 5,000: what is free beside them.
TRUTH = {("live", "cache"): 2000 * 32768, ("live", "leak"): 40000 * 1008,
         ("beside", "pin"): 5000 * (4096 - 480)}


def is_near(found, truth, part=0.2):
    return abs(found - truth) < part * truth


def check_doctor(said):
    findings = json.loads(said)["findings"]
    expect(len(findings) == len(TRUTH), said)
    for (kind, comment), truth in TRUTH.items():
        line = line_of(SERVER, "// " + comment)
        found = [one for one in findings if one["kind"] == kind and one["place"]["line"] == line]
        expect(len(found) == 1 and is_near(found[0]["bytes"], truth), f"{comment}: {said}")


def main(release, folder):
    command = installed(release, folder)
    write(folder + "/server.cc", SERVER)
    run("c++", "-g", "-O1", "-o", "server", "server.cc", folder=folder)
    options = ["--option", "profile=on", "--option", "profile_bytes=16384"]
    with Service(command, "run", *options, "--", "./server", folder=folder) as server:
        check_doctor(run(command, "doctor", "--json", server.pid))
        said = run(command, "doctor", server.pid)
        expect(max(map(len, said.splitlines())) <= 80, said)
        # Of two sizes of one heap the one that pins is told from the one that is full.
        said = run(command, "explain", server.pid)
        expect("5000 blocks of 480 bytes keep" in said, said)

        old = folder + "/old.json"
        write(old, run(command, "explain", "--json", server.pid))
        run(command, "prof", "--save", folder + "/old.profile", server.pid)
        server.process.send_signal(signal.SIGUSR1)
        server.says("ready")
        said = json.loads(run(command, "prof", "--json", "--since", folder + "/old.profile",
                              server.pid))
        place = said["places"][0]
        expect(place["line"] == line_of(SERVER, "// leak"), said)
        expect(is_near(place["live"]["bytes"], 20000 * 1008), said)
        said = run(command, "explain", "--compare", old, server.pid)
        expect("1008 bytes" in said, said)


if __name__ == "__main__":
    walk(main)
