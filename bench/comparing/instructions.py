"""Instructions of one malloc and of one free by the owner, counted by single steps."""
import os
import subprocess

from . import report

COUNT = 1500   # calls of each that are stepped through, at some 10 us a step
PATTERNS = [("1 live", 1), ("100 live", 100), ("3,000 live", 3000)]
BLOCK_BYTES = 32


def run(usable, tools):
    """Prints a table: the most frequent count, and the mean in brackets; 1 if one failed."""
    lines = [["allocator", *(f"{call}, {title}" for title, _ in PATTERNS
                             for call in ("malloc", "free"))]]
    for allocator in usable:
        lines.append([allocator.name])
        for _, live in PATTERNS:
            lines[-1] += per_call(tools, allocator, live)
    print(f"Instructions per call, blocks of {BLOCK_BYTES} bytes: "
          "the most frequent count (the mean)\n")
    report.print_aligned(lines)
    return 1 if any("failed" in line for line in lines) else 0


def per_call(tools, allocator, live):
    """Text for malloc and for free."""
    environment = dict(os.environ)
    environment.pop("LD_PRELOAD", None)
    done = subprocess.run(
        [str(tools / "steps"), allocator.preload, str(COUNT), str(live), str(BLOCK_BYTES)],
        env=environment, capture_output=True, text=True)
    if done.returncode:
        return ["failed", "failed"]
    texts = []
    for line in done.stdout.splitlines():
        frequent, _, mean = line.split()
        texts.append(f"{frequent} ({mean})")
    return texts
