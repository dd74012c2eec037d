#!/usr/bin/env python3
"""Checks that docs/tuning.md has each option of a library: its unit, range, default, and when it is
set, as LOAM_OPTIONS=help=1 prints them, in the same order."""
import os
import re
import subprocess
import sys

PRINTED = re.compile(r"  (\w+)=(\S*)  \((.+), (at start|any time)\)  .")
RANGE = re.compile(r"(?:(?P<words>[a-z|]+) or )?(?P<range>\d+(?: bytes)? to \d+(?: [KMGT]iB)?)(?:,| bytes of a)?"
                   r"(?: in)? (?P<unit>.+)")


def printed_by(library):
    environment = {**os.environ, "LD_PRELOAD": library, "LOAM_OPTIONS": "help=1"}
    output = subprocess.run("/bin/true", env=environment, capture_output=True, text=True, check=True)
    for line in output.stderr.splitlines()[1:]:
        match = PRINTED.match(line)
        if match is None:
            sys.exit(f"not an option: {line}")
        yield match.groups()


def words(text):
    return re.findall(r"[\w.]+", text)


def range_in_docs(text):
    """As the table writes what the library prints."""
    match = RANGE.fullmatch(text)
    if match is None: # a choice
        return words(text.replace("0|1", "0 or 1"))
    if match["unit"] in ("path", "list"):
        return [match["unit"]]
    others = match["words"].replace("|", " or ") if match["words"] else ""
    join = "," if " or " in others else " or" if others else ""
    return words(f"{match['unit']}, {match['range']}{join} {others}")


def default_in_docs(name, default):
    """A path's default is told in words."""
    paths = {"options_file": "`/etc/loam.conf`", "profile_file": "`loam.%p.profile`"}
    return default or paths.get(name, "none")


def findings(library, page):
    with open(page, encoding="utf-8") as file:
        rows = re.findall(r"^\| `(\w+)` \| (.+?) \| (.+?) \| (at start|any time) \| .+ \|$",
                          file.read(), re.M)
    options = list(printed_by(library))
    if [row[0] for row in rows] != [option[0] for option in options]:
        yield f"{page} has {[row[0] for row in rows]}, not {[option[0] for option in options]}"
        return
    for (name, default, values, when), row in zip(options, rows):
        wanted = (range_in_docs(values), default_in_docs(name, default), when)
        found = (words(row[1]), row[2], row[3])
        if wanted != found:
            yield f"{page}: {name} has {found}, not {wanted}"


def main():
    if len(sys.argv) != 3:
        sys.exit(f"usage: {sys.argv[0]} LIBRARY docs/tuning.md")
    found = list(findings(*sys.argv[1:]))
    print(*found, f"{len(found)} findings", sep="\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
