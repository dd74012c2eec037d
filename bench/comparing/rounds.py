"""Shuffled rounds of all rows under all allocators."""
import dataclasses
import random
import sys
import typing

from . import measure


@dataclasses.dataclass
class Run(measure.Measurement):
    """One measurement with its row, allocator and round."""

    row: str = ""
    allocator: str = ""
    round: int = 0


@dataclasses.dataclass
class Results:
    """All runs, and the rows that could not be run with the reason."""

    rows: typing.List[str]
    runs: typing.List[Run]
    skipped: typing.Dict[str, str]


def run(wanted, usable, tools, count, timeout_s, seed):
    """Measures: one unmeasured warm-up per row, then `count` rounds in random order."""
    order = random.Random(seed)
    skipped = {row.name: row.missing for row, _ in wanted if row.missing}
    results = Results([], [], skipped)
    failed = set()
    for row, quick in wanted:
        if row.missing:
            continue
        results.rows.append(row.name)
        progress(f"{row.name}: warming up")
        row.measure(tools, "-", quick, timeout_s)
        for number in range(count):
            shuffled = order.sample(usable, len(usable))
            for place, allocator in enumerate(shuffled, 1):
                if (row.name, allocator.name) in failed:
                    continue
                progress(f"{row.name}: round {number + 1} of {count}, "
                         f"{place} of {len(shuffled)}: {allocator.name}")
                measured = row.measure(tools, allocator.preload, quick, timeout_s)
                results.runs.append(Run(**dataclasses.asdict(measured), row=row.name,
                                        allocator=allocator.name, round=number))
                if measured.failure:
                    failed.add((row.name, allocator.name))
    progress("")
    return results


def progress(text):
    """One line on stderr that is overwritten on a terminal."""
    if sys.stderr.isatty():
        sys.stderr.write("\r\x1b[K" + text)
        sys.stderr.flush()
    elif text.endswith("warming up"):
        print(text, file=sys.stderr)
