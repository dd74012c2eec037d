#!/usr/bin/env python3
"""Checks the note in a library or program that holds loam: docs/graft.md has its layout.

It is found by the section headers and, as in a stripped program, by the program headers alone.
"""
import re
import subprocess
import sys

SECTION = re.compile(r"^\s*\[\s*\d+\] \.note\.loam\s+NOTE\s.*\sA\s", re.M)
HEADER = re.compile(r"^\s*loam\s+(0x[0-9a-f]+)", re.M)
DATA = re.compile(r"description data: ([0-9a-f ]+)")


def output(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def check(path, build, version):
    if SECTION.search(output("readelf", "-SW", path)) is None:
        yield "has no allocated note section .note.loam"
    notes = output("readelf", "-nW", path)
    if len(HEADER.findall(notes)) != 1:
        yield f"has {len(HEADER.findall(notes))} notes of loam's, not 1"
        return
    data = DATA.search(notes[HEADER.search(notes).start():])
    words = bytes.fromhex(data[1]) if data is not None else b""
    if words != version.encode() + b"\0" + build.encode() + b"\0":
        yield f"its note says {words}"


def main():
    if len(sys.argv) != 4:
        sys.exit(f"usage: {sys.argv[0]} FILE fast|checking|hardened LOAM.H")
    _, path, build, header = sys.argv
    with open(header, encoding="utf-8") as file:
        version = re.search(r'^#define LOAM_VERSION "(.*)"', file.read(), re.M)[1]
    found = list(check(path, build, version))
    print(*found, f"{len(found)} findings", sep="\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
