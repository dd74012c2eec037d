"""The memory probes under every allocator, as one table."""
import os
import subprocess

from . import report


def run(usable, tools, timeout_s):
    """Prints the table; gives 1 if a probe failed."""
    names = [allocator.name for allocator in usable]
    lines, failures = [["probe (anonymous resident KiB)", *names]], []
    for probe, what in known_probes(tools):
        line = [f"{what} [{probe}]"]
        for allocator in usable:
            number, failure = run_one(tools, probe, allocator, timeout_s)
            line.append(number)
            if failure:
                failures.append(f"failed: {probe} under {allocator.name}: {failure}")
        lines.append(line)
    report.print_aligned(lines)
    print("\n".join(failures))
    return 1 if failures else 0


def known_probes(tools):
    """(name, description) of each probe, as the program lists them."""
    listing = subprocess.run([str(tools / "probes")], capture_output=True, text=True, check=True)
    return [line.split("\t") for line in listing.stdout.splitlines()]


def run_one(tools, probe, allocator, timeout_s):
    """(what the probe printed, None) or ("failed", why)."""
    environment = dict(os.environ)
    environment.pop("LD_PRELOAD", None)
    if allocator.library:
        environment["LD_PRELOAD"] = str(allocator.library)
    try:
        done = subprocess.run([str(tools / "probes"), probe], env=environment, timeout=timeout_s,
                              capture_output=True, text=True)
    except subprocess.TimeoutExpired:
        return "failed", f"did not end within {timeout_s} s"
    if done.returncode:
        return "failed", f"status {done.returncode} {done.stderr.strip()}"
    return ", ".join(done.stdout.split()), None
