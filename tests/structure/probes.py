#!/usr/bin/env python3
"""Checks the probes in a library that holds loam: docs/profile.md names them.

Tracers find them by their notes; each leads to a no-operation, and the notes stay in a stripped
file.
"""
import os
import re
import subprocess
import sys
import tempfile

PROBE = re.compile(
    r"stapsdt\s+0x[0-9a-f]+\s+NT_STAPSDT.*\n"
    r"\s+Provider: (\S+)\n\s+Name: (\S+)\n"
    r"\s+Location: 0x([0-9a-f]+), Base: 0x([0-9a-f]+), Semaphore: 0x([0-9a-f]+)\n"
    r"\s+Arguments: (.*)")
BASE = re.compile(r"\.stapsdt\.base\s+PROGBITS\s+([0-9a-f]+)")
REGISTERS = {"alloc": 3, "free": 1}
ARGUMENT = re.compile(r"8@(%r\w+|x\d+)")


def output(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def instruction_at(path, address):
    text = output("objdump", "-d", "--no-show-raw-insn", f"--start-address={address:#x}",
                  f"--stop-address={address + 1:#x}", path)
    lines = re.findall(rf"^\s*{address:x}:\s+(\S+)", text, re.M)
    return lines[0] if lines else None


def check(path):
    base = BASE.search(output("readelf", "-SW", path))
    probes = PROBE.findall(output("readelf", "-n", path))
    if base is None:
        yield "has no section .stapsdt.base"
        return
    found = {name for provider, name, *_ in probes if provider == "otel_memory"}
    if found != set(REGISTERS):
        yield f"has the probes {sorted(found)}"
    for provider, name, location, own_base, semaphore, arguments in probes:
        words = arguments.split()
        if len(words) != REGISTERS.get(name) or not all(map(ARGUMENT.fullmatch, words)):
            yield f"{provider}:{name} has the arguments '{arguments}'"
        if int(own_base, 16) != int(base[1], 16) or int(semaphore, 16) != 0:
            yield f"{provider}:{name} has the base {own_base} and the semaphore {semaphore}"
        if instruction_at(path, int(location, 16)) != "nop":
            yield f"{provider}:{name} is at no nop"


def main():
    if len(sys.argv) != 2:
        sys.exit(f"usage: {sys.argv[0]} FILE")
    path = sys.argv[1]
    found = list(check(path))
    with tempfile.TemporaryDirectory() as folder:
        stripped = os.path.join(folder, "stripped.so")
        subprocess.run(["strip", "-o", stripped, path], check=True)
        found += [f"stripped, it {finding}" for finding in check(stripped)]
    print(*found, f"{len(found)} findings", sep="\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
