#!/usr/bin/env python3
"""Fails unless PROGRAM, as it was linked, has loam in it and allocates with nothing else.

    loam-verify.py PROGRAM STAMP

STAMP is a file that is written if it has. The loam command is LOAM_COMMAND of the environment, or
the one in PATH. meson.build makes this find_program('loam-verify').
"""
import json
import os
import subprocess
import sys


def verified(program):
    """None, or what is wrong."""
    command = os.environ.get("LOAM_COMMAND") or "loam"
    # Loam must be in the program itself, and not be preloaded by the builder's environment.
    environment = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
    try:
        result = subprocess.run([command, "verify", "--json", program], env=environment,
                                capture_output=True, text=True, check=False)
    except OSError as error:
        return (f"cannot be verified: {command}: {error.strerror}; install the loam command, or "
                "name it by LOAM_COMMAND")
    if result.returncode not in (0, 1):
        return f"cannot be verified: {result.stderr.strip() or result.returncode}"
    report = json.loads(result.stdout)
    if report["verdict"].startswith("loam is not loaded"):
        return "the link has left loam out"
    if result.returncode != 0:
        return (f"not all of it allocates with loam: {report['verdict']}. Run `{command} verify "
                f"{program}` for the details")
    if report["library"] != report["program"]:
        return f"loam is not in it, but in {report['library']}"
    return None


def main():
    if len(sys.argv) != 3:
        print(f"usage: {sys.argv[0]} PROGRAM STAMP", file=sys.stderr)
        return 2
    program, stamp = sys.argv[1:]
    program = os.path.abspath(program)
    wrong = verified(program)
    if wrong is not None:
        print(f"{program}: {wrong}.", file=sys.stderr)
        return 1
    with open(stamp, "w", encoding="utf-8"):
        return 0


if __name__ == "__main__":
    sys.exit(main())
