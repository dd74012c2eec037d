"""The Redis row: a server under the allocator, its benchmark client without."""
import dataclasses
import pathlib
import shutil
import subprocess
import tempfile
import time

from . import measure

START_TIMEOUT_S = 20


def installed():
    """Whether the server, the client and the benchmark are there."""
    return all(shutil.which(name) for name in ("redis-server", "redis-cli", "redis-benchmark"))


def run(tools, preload, arguments, timeout_s):
    """One run: wall time of the client; CPU time, peak and faults of the server."""
    with tempfile.TemporaryDirectory(prefix="loam-redis-") as folder:
        socket = str(pathlib.Path(folder) / "socket")
        server = measure.Launched(tools, preload, server_command(socket, folder), {})
        try:
            failure, wall_s = drive(server, socket, arguments[0], timeout_s)
            ask(socket, "SHUTDOWN", "NOSAVE")
            measurement = server.wait(START_TIMEOUT_S)
        finally:
            server.stop()
    if failure and not measurement.failure:
        return measure.Measurement(failure=failure)
    return dataclasses.replace(measurement, wall_s=None if measurement.failure else wall_s)


def server_command(socket, folder):
    """A server without network, persistence and log."""
    return ["redis-server", "--port", "0", "--unixsocket", socket, "--save", "", "--appendonly",
            "no", "--dir", folder, "--daemonize", "no", "--loglevel", "warning"]


def drive(server, socket, requests, timeout_s):
    """Runs the client against a started server: (failure or None, seconds)."""
    deadline = time.monotonic() + START_TIMEOUT_S
    while ask(socket, "PING") != "PONG":
        if not server.running() or time.monotonic() > deadline:
            return "the server did not start", None
        time.sleep(0.02)
    command = ["redis-benchmark", "-s", socket, "-q", "-t", "set,get,lpush,lrange_100",
               "-r", "1000000", "-n", requests, "-d", "200", "-P", "16"]
    start_s = time.monotonic()
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=timeout_s)
    except subprocess.TimeoutExpired:
        return f"the client did not end within {timeout_s} s", None
    wall_s = time.monotonic() - start_s
    return (f"the client ended with {done.returncode}" if done.returncode else None), wall_s


def ask(socket, *words):
    """One command to the server; its answer, or None."""
    try:
        done = subprocess.run(["redis-cli", "-s", socket, *words], capture_output=True, text=True,
                              timeout=10)
    except subprocess.TimeoutExpired:
        return None
    return done.stdout.strip()
