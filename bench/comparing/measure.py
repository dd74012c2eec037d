"""One measured run of one command."""
import dataclasses
import os
import signal
import subprocess
import tempfile
import typing


@dataclasses.dataclass
class Measurement:
    """What one run took. Where there is a failure, the numbers are None."""

    wall_s: typing.Optional[float] = None
    cpu_s: typing.Optional[float] = None
    peak_mib: typing.Optional[float] = None
    faults: typing.Optional[int] = None
    failure: typing.Optional[str] = None


class Launched:
    """A program that was started by the launcher, whose measurement can be waited for."""

    def __init__(self, tools, preload, command, environment, stdin=None):
        self.result_end, result_start = os.pipe()
        self.output = tempfile.TemporaryFile()
        wanted = dict(os.environ, **environment)
        wanted.pop("LD_PRELOAD", None)

        def prepare():
            os.dup2(result_start, 3)

        with open(stdin or os.devnull, "rb") as source:
            self.launcher = subprocess.Popen(
                [str(tools / "launch"), preload, *command], env=wanted, stdin=source,
                stdout=self.output, stderr=subprocess.STDOUT, preexec_fn=prepare,
                pass_fds=(3,), start_new_session=True)
        os.close(result_start)

    def running(self):
        """Whether the program still runs."""
        return self.launcher.poll() is None

    def stop(self):
        """Kills the program and all that it started."""
        if self.running():
            os.killpg(self.launcher.pid, signal.SIGKILL)

    def wait(self, timeout_s):
        """The measurement, once the program has ended."""
        try:
            self.launcher.wait(timeout_s)
            failure = None
        except subprocess.TimeoutExpired:
            failure = f"did not end within {timeout_s} s"
            self.stop()
            self.launcher.wait()
        except BaseException:   # interrupted: nothing that we started may go on
            self.stop()
            raise
        with os.fdopen(self.result_end) as results:
            fields = results.read().split()
        measurement = parse(fields)
        if failure:
            measurement = Measurement(failure=failure)
        if measurement.failure:
            measurement.failure += self.last_words()
        self.output.close()
        return measurement

    def last_words(self):
        """The last line of what the program printed, if any, to explain a failure."""
        self.output.seek(0)
        lines = self.output.read().decode(errors="replace").strip().splitlines()
        return f" ({lines[-1][:120]})" if lines else ""


def parse(fields):
    """From the launcher's line to a measurement."""
    if len(fields) != 6:
        return Measurement(failure="the launcher failed")
    wall_ns, user_us, system_us, peak_kib, faults, status = map(int, fields)
    if os.WIFSIGNALED(status):
        return Measurement(failure=f"killed by {signal.Signals(os.WTERMSIG(status)).name}")
    if os.WEXITSTATUS(status):
        return Measurement(failure=f"exit status {os.WEXITSTATUS(status)}")
    return Measurement(wall_ns / 1e9, (user_us + system_us) / 1e6, peak_kib / 1024, faults)


def run(tools, preload, command, environment, timeout_s, stdin=None):
    """Runs a command to its end and measures it."""
    return Launched(tools, preload, command, environment, stdin).wait(timeout_s)
