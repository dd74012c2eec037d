"""What the processes that a command starts hold, sampled while it runs: mappings and resident memory."""
import ctypes
import os
import signal
import subprocess
import time

SAMPLE_SECONDS = 0.05
PR_SET_CHILD_SUBREAPER = 36  # linux/prctl.h


class Footprint:
    """The most that any one process held: lines of its maps, and KiB resident."""

    def __init__(self, maps_count=0, resident_kib=0):
        self.maps_count = maps_count
        self.resident_kib = resident_kib

    def include(self, maps_count, resident_kib):
        self.maps_count = max(self.maps_count, maps_count)
        self.resident_kib = max(self.resident_kib, resident_kib)

    def __str__(self):
        return f"{self.maps_count} maps, {self.resident_kib / 1024:.0f} MiB"


def descendants(pid):
    """Process ids below pid."""
    found = []
    try:
        for thread in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{thread}/children", encoding="ascii") as children:
                for child in children.read().split():
                    found += [int(child)] + descendants(child)
    except OSError:  # it has ended
        pass
    return found


def sample(pid, footprint):
    try:
        with open(f"/proc/{pid}/environ", "rb") as environment:
            if b"LD_PRELOAD=" in environment.read().split(b"\0"):  # as compilers are started
                return
        with open(f"/proc/{pid}/maps", "rb") as maps:
            maps_count = maps.read().count(b"\n")
        with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as status:
            peak = [line for line in status if line.startswith("VmHWM:")]
    except OSError:  # it has ended, or is another user's
        return
    footprint.include(maps_count, int(peak[0].split()[1]) if peak else 0)


def end(process):
    """Kills what is left of a command, and takes the status of each of its processes."""
    process.kill()
    process.wait()
    while left := descendants(os.getpid()):
        for pid in left:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        os.waitpid(-1, 0)


def run(command, timeout_seconds, **options):
    """(status, Footprint) of a command; TimeoutExpired when it does not end. No process of it is left."""
    # Servers that leave their parent stay below this process.
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    footprint = Footprint()
    deadline = time.monotonic() + timeout_seconds
    with subprocess.Popen(command, start_new_session=True, **options) as process:
        try:
            while process.poll() is None:
                for pid in descendants(os.getpid()):
                    sample(pid, footprint)
                if time.monotonic() > deadline:
                    raise subprocess.TimeoutExpired(command, timeout_seconds)
                time.sleep(SAMPLE_SECONDS)
        finally:
            end(process)
    return process.returncode, footprint
