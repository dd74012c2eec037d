"""Instructions of one malloc and one free by the owner, counted by callgrind."""
import os
import re
import shutil
import subprocess
import sys
import tempfile

from . import report

FEW, MANY = 20000, 120000   # pairs; the difference leaves out what happens once
PATTERNS = [("free and malloc again", 1), ("100 blocks live", 100), ("3,000 blocks live", 3000)]
BLOCK_BYTES = 32


def run(usable, tools):
    """Prints a table of instructions per call."""
    if not shutil.which("valgrind"):
        print("compare: --instructions needs valgrind", file=sys.stderr)
        return 2
    head = [f"instructions per call, {BLOCK_BYTES} bytes"]
    lines = [head + [f"{call}: {title}" for title, _ in PATTERNS for call in ("malloc", "free")]]
    for allocator in usable:
        line = [allocator.name]
        for _, live in PATTERNS:
            line += per_call(tools, allocator, live)
        lines.append(line)
    report.print_aligned(lines)
    return 0


def per_call(tools, allocator, live):
    """Text for malloc and for free: the increase of the inclusive cost per pair."""
    few, many = (costs(tools, allocator, count, live) for count in (FEW, MANY))
    if few is None or many is None:
        return ["failed", "failed"]
    return [f"{(many[name] - few[name]) / (MANY - FEW):.1f}"
            for name in ("call_malloc", "call_free")]


def costs(tools, allocator, count, live):
    """Inclusive instructions of what call_malloc and call_free call, or None."""
    with tempfile.NamedTemporaryFile() as out:
        environment = dict(os.environ, LD_BIND_NOW="1")
        environment.pop("LD_PRELOAD", None)
        if allocator.library:
            environment["LD_PRELOAD"] = str(allocator.library)
        done = subprocess.run(
            ["valgrind", "--tool=callgrind", "--soname-synonyms=somalloc=nouserintercepts",
             f"--callgrind-out-file={out.name}", str(tools / "pairs"), str(count), str(live),
             str(BLOCK_BYTES)],
            env=environment, capture_output=True, text=True)
        if done.returncode:
            return None
        with open(out.name) as file:
            return called_costs(file)


def called_costs(file):
    """Sums the inclusive costs on the call lines below fn=call_malloc and fn=call_free."""
    names, totals, current, after_call = {}, {"call_malloc": 0, "call_free": 0}, None, False
    for line in file:
        function = re.match(r"c?fn=\((\d+)\)(?: (.*))?", line)
        if function:
            if function.group(2):
                names[function.group(1)] = function.group(2)
            if line.startswith("fn="):
                current = names.get(function.group(1))
        elif line.startswith("calls="):
            after_call = True
        elif after_call:
            after_call = False
            if current in totals:
                totals[current] += int(line.split()[1])
    return totals
