#!/usr/bin/env python3
"""Mastodon, report 2838: a preloaded allocator of 64 bits, and the loader says a line for each program
of 32 bits that is started. With a release, installed or its command alone, and with what `make` builds:
no line, and programs of either word size are on loam, musl's too, whoever starts them.

    mastodon_2838.py RELEASE|BUILD
"""
import os
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "first_hour"))
from support import HELLO, expect, installed, run, walk, write  # noqa: E402

SAYS = ("-o", "stats=text")


def compiled(folder, name, *compiler):
    """Or None, where programs of that kind cannot be made or run here."""
    path = f"{folder}/{name}"
    result = subprocess.run([*compiler, folder + "/hello.c", "-o", path], capture_output=True, check=False)
    return path if result.returncode == 0 and os.access(path, os.X_OK) else None


def expect_both(loam, programs, folder):
    """Each program is on loam, as a shell's child and for itself, and nobody says more."""
    environment = {"XDG_CACHE_HOME": folder + "/cache"}
    for program in programs:
        for command in ((program,), ("sh", "-c", program + "; exit 0"), ("sh", "-c", f"{loam} run -- {program}")):
            said = run(loam, "run", "--", *command, environment=environment)
            expect(said == "hello\n", f"{command}: {said}")
            said = run(loam, "run", *SAYS, "--", *command, environment=environment)
            count = len(re.findall(rf"loam\b.*: process \d+ \({os.path.basename(program)}\)", said))
            expect(count == 1 and "ERROR" not in said, f"{command}: {said}")
    said = run(loam, "verify", "--preloaded", "--", programs[0], environment=environment)
    expect("all of it is loam's" in said, said)


def expect_one_line_without_cache(loam, program, folder):
    """The links cannot be written: what is preloaded is the program's own library, as loam says."""
    write(folder + "/file", "")
    environment = {"XDG_CACHE_HOME": folder + "/file", "TMPDIR": folder + "/file"}
    said = run(loam, "run", "--", "sh", "-c", "exit 0", environment=environment)
    expect(said.startswith("loam: programs of the other word size run without loam: ") and said.count("\n") == 1, said)
    said = run(loam, "run", *SAYS, "--", program, environment=environment)
    expect("ERROR" not in said and ": process" in said, said)


def main(release, folder):
    write(folder + "/hello.c", HELLO)
    small = compiled(folder, "small", "gcc", "-m32")
    if small is None or subprocess.run([small], capture_output=True, check=False).returncode != 0:
        return "no program of 32 bits is compiled and run here"
    programs = [small, compiled(folder, "wide", "gcc"), compiled(folder, "of_musl", "musl-gcc")]
    programs = [program for program in programs if program is not None]
    built = release + "/bin/loam"
    if os.path.exists(built):
        expect_both(built, programs, folder)
        return None
    loam = installed(release, folder)
    expect_both(loam, programs, folder)
    expect_one_line_without_cache(loam, small, folder)
    alone = shutil.move(loam, folder + "/loam")
    shutil.rmtree(os.path.dirname(os.path.dirname(loam)))
    expect_both(alone, programs, folder)
    return None


if __name__ == "__main__":
    walk(main)
