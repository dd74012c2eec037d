"""Shuffled rounds of all rows under all allocators."""
import dataclasses
import os
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
    others_percent: typing.Optional[float] = None   # of the machine, used by others meanwhile


def run(wanted, usable, tools, count, timeout_s, seed):
    """Measures: one unmeasured warm-up per row, then `count` rounds in random order."""
    order = random.Random(seed)
    skipped = {row.name: row.missing for row, _ in wanted if row.missing}
    results = Results([], [], skipped)
    failed = set()
    load = Load()
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
    results.others_percent = load.others_percent()
    return results


class Load:
    """How much of the machine others used since this was made."""

    def __init__(self):
        self.start = self.now()

    @staticmethod
    def now():
        """(all ticks, busy ticks, our own and our children's seconds), or None."""
        try:
            with open("/proc/stat") as file:
                ticks = [int(field) for field in file.readline().split()[1:9]]
        except (OSError, ValueError):
            return None
        idle = ticks[3] + ticks[4]
        return sum(ticks), sum(ticks) - idle, sum(os.times()[:4])

    def others_percent(self):
        """Percent of all processors' time, what a hypervisor took included."""
        end = self.now()
        if not self.start or not end or end[0] == self.start[0]:
            return None
        total, busy, ours_s = (after - before for before, after in zip(self.start, end))
        ours = ours_s * os.sysconf("SC_CLK_TCK")
        return max(0.0, (busy - ours) / total * 100)


def progress(text):
    """One line on stderr that is overwritten on a terminal."""
    if sys.stderr.isatty():
        sys.stderr.write("\r\x1b[K" + text)
        sys.stderr.flush()
    elif text.endswith("warming up"):
        print(text, file=sys.stderr)
