#!/usr/bin/env python3
"""Links to the test programs that cargo has compiled, by what its JSON messages on standard input say.

    cargo test --no-run --message-format=json | cargo_programs.py FOLDER

A binary's own tests are called `main`, and those of a file in `tests` as that is.
"""
import json
import os
import sys


def programs(messages):
    for message in map(json.loads, messages):
        if message["reason"] == "compiler-artifact" and message["profile"]["test"]:
            target = message["target"]
            yield "main" if "bin" in target["kind"] else target["name"], message["executable"]


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    for name, program in programs(sys.stdin):
        os.symlink(program, os.path.join(sys.argv[1], name))


if __name__ == "__main__":
    main()
