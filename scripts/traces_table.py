#!/usr/bin/env python3
"""Writes docs/trace.md's table of the recordings that `make traces` has made.

    scripts/traces_table.py LOAM FOLDER [DOCUMENT]

LOAM is the command, FOLDER has NAME.trace of each. What `loam trace stats` says of them is between
two marks in DOCUMENT, docs/trace.md unless another is named.
"""

import json
import pathlib
import subprocess
import sys

BEGIN, END = "<!-- traces_table.py -->\n", "<!-- end -->\n"
HEAD = """| recording | events | bytes each | live at the peak | the bound | temporaries | freed by another thread |
|---|---|---|---|---|---|---|
"""


def figures(loam, trace):
    said = subprocess.run([loam, "trace", "stats", "--json", trace], check=True, capture_output=True)
    return json.loads(said.stdout)


def scaled(number, step, units):
    """Three digits, and the unit."""
    unit = 0
    while number >= step and unit + 1 < len(units):
        number /= step
        unit += 1
    digits = max(0, 3 - len(str(int(number)))) if unit else 0
    return f"{number:.{digits}f} {units[unit]}".strip()


def share(part, whole):
    return f"{100 * part / whole:.1f} %" if whole else "0"


def row(loam, trace):
    said = figures(loam, trace)
    summary, gives = said["summary"], said["gives"]
    memory = ["B", "KiB", "MiB", "GiB"]
    cells = [
        trace.stem,
        scaled(summary["events"], 1000, ["", "k", "M", "G"]),
        f"{said['file_bytes'] / summary['events']:.2f}",
        scaled(summary["peak_live_bytes"], 1024, memory),
        scaled(said["bound_bytes"], 1024, memory),
        share(said["temporaries"], summary["objects"]),
        share(said["gives_by_others"], gives),
    ]
    return f"| {' | '.join(cells)} |\n"


def main(loam, folder, document="docs/trace.md"):
    traces = sorted(pathlib.Path(folder).glob("*.trace"))
    table = HEAD + "".join(row(loam, trace) for trace in traces)
    text = pathlib.Path(document).read_text()
    before, rest = text.split(BEGIN)
    after = rest.split(END, 1)[1]
    pathlib.Path(document).write_text(f"{before}{BEGIN}\n{table}\n{END}{after}")


if __name__ == "__main__":
    main(*sys.argv[1:])
