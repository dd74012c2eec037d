"""Tables of medians and ratios, and the file of single runs."""
import dataclasses
import json
import math
import os
import platform
import statistics
import subprocess

from . import paths

# Field of a run, title, format of the median. Lower is better in all of them.
METRICS = [
    ("wall_s", "Time: median wall seconds, and half the range in percent", "{:.3f}"),
    ("cpu_s", "CPU: median user and system seconds", "{:.3f}"),
    ("peak_mib", "Memory: median peak resident MiB", "{:.1f}"),
    ("faults", "Minor page faults: median", "{:.0f}"),
]


def values(results, row, allocator, field):
    """The field of the runs of a row under an allocator; empty if one of them failed."""
    runs = [run for run in results.runs if (run.row, run.allocator) == (row, allocator)]
    if any(run.failure for run in runs):
        return []
    return [getattr(run, field) for run in runs]


def cell(numbers, form):
    """A median with half the range around it, or that there is none."""
    if not numbers:
        return "failed"
    median = statistics.median(numbers)
    text = form.format(median)
    if len(numbers) > 1 and median > 0:
        text += f" ±{(max(numbers) - min(numbers)) / 2 / median * 100:.0f}%"
    return text


def ratio_to_best(columns, subject):
    """(ratio, best other's name, whether the ranges overlap), or None if it cannot be said."""
    others = {name: numbers for name, numbers in columns.items() if numbers and name != subject}
    mine = columns.get(subject)
    if not mine or not others:
        return None
    best = min(others, key=lambda name: statistics.median(others[name]))
    median = statistics.median(others[best])
    overlap = min(mine) <= max(others[best]) and min(others[best]) <= max(mine)
    return (statistics.median(mine) / median if median else math.nan), best, overlap


def geometric_mean(ratios):
    """The geometric mean of positive numbers, as text."""
    usable = [ratio for ratio in ratios if ratio and ratio > 0]
    if not usable:
        return "-"
    return f"{math.exp(sum(map(math.log, usable)) / len(usable)):.3f}"


def metric_table(results, names, subject, field, form):
    """Rows of text: a head, a line per row, and the geometric means."""
    has_subject = subject in names
    lines = [["row", *names] + [f"{subject}/best other"] * has_subject]
    to_best, to_name = [], {name: [] for name in names}
    for row in results.rows:
        columns = {name: values(results, row, name, field) for name in names}
        verdict = ratio_to_best(columns, subject)
        text = "-"
        if verdict:
            ratio, best, overlap = verdict
            to_best.append(ratio)
            text = f"{ratio:.2f}{' ~' if overlap else ''} ({best})"
        for name in names:
            if columns[name] and columns.get(subject) and statistics.median(columns[subject]):
                to_name[name].append(statistics.median(columns[name])
                                     / statistics.median(columns[subject]))
        lines.append([row, *(cell(columns[name], form) for name in names)] + [text] * has_subject)
    if has_subject:
        lines.append([f"geometric mean, {subject} = 1",
                      *(geometric_mean(to_name[name]) for name in names), geometric_mean(to_best)])
    return lines


def print_aligned(lines, left=False):
    """A table: the first column to the left, the others to the right unless `left`."""
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
    for line in lines:
        first, *others = (text.ljust(width) if i == 0 or left else text.rjust(width)
                          for i, (text, width) in enumerate(zip(line, widths)))
        print("  ".join([first, *others]).rstrip())


def print_tables(results, usable, subject):
    """Everything for people."""
    names = [allocator.name for allocator in usable]
    print(f"{machine()}\ncommit {commit()}")
    if results.others_percent is not None:
        warning = ": measure again when it is quiet" if results.others_percent > 5 else ""
        print(f"others used {results.others_percent:.0f}% of the machine meanwhile{warning}")
    for field, title, form in METRICS:
        print(f"\n## {title}\n")
        print_aligned(metric_table(results, names, subject, field, form))
    if subject in names:
        print(f"\n{subject}/best other: of the medians; below 1 is better; "
              "~: the ranges overlap, so the difference may be chance.")
    for row, reason in results.skipped.items():
        print(f"skipped {row}: {reason}")
    for run in results.runs:
        if run.failure:
            print(f"failed: {run.row} under {run.allocator}: {run.failure}")


def print_list(rows, chosen):
    """Names of rows and allocators, with what they are."""
    print_aligned([["row", "shows"]] + [[row.name, row.shows] for row in rows], left=True)
    print()
    print_aligned([["allocator", "version", "library"]]
                  + [[a.name, a.version or "-", str(a.library or "the system's")] for a in chosen],
                  left=True)
    return 0


def machine():
    """The processor and the system in one line."""
    model = platform.processor()
    try:
        with open("/proc/cpuinfo") as file:
            model = next((line.split(":", 1)[1].strip() for line in file
                          if line.startswith("model name")), model)
    except OSError:
        pass
    return (f"{model}, {os.cpu_count()} processors, {platform.system()} {platform.release()}, "
            f"huge pages: {huge_pages()}")


def huge_pages():
    """When the kernel gives transparent huge pages: always, madvise or never."""
    try:
        with open("/sys/kernel/mm/transparent_hugepage/enabled") as file:
            return file.read().partition("[")[2].partition("]")[0]
    except OSError:
        return "unknown"


def commit():
    """The commit of this checkout, marked if files have changed since."""
    done = subprocess.run(["git", "-C", str(paths.ROOT), "describe", "--always", "--dirty"],
                          capture_output=True, text=True)
    return done.stdout.strip() or "unknown"


def write_json(path, results, usable):
    """All single runs with where and on what they were made."""
    content = {
        "machine": machine(),
        "commit": commit(),
        "allocators": [{"name": a.name, "version": a.version, "library": str(a.library or "")}
                       for a in usable],
        "others_percent": results.others_percent,
        "skipped": results.skipped,
        "runs": [dataclasses.asdict(run) for run in results.runs],
    }
    with open(path, "w") as file:
        json.dump(content, file, indent=1)
