"""The rows: what is run, with which arguments, and what has to be installed for it."""
import dataclasses
import os
import shutil
import typing

from . import measure, paths, redis

PYTHON = "/usr/bin/python3"   # the system's: its malloc can be preloaded, a static one's cannot
MANUALS = ["/usr/share/R/doc/manual/refman.pdf", "/usr/share/doc/r-doc-pdf/manual/refman.pdf"]


class UnknownRow(Exception):
    """A name that stands for no row."""


@dataclasses.dataclass(frozen=True)
class Row:
    """A command to run under each allocator, its shorter form, and what it shows."""

    name: str
    command: typing.List[str]
    quick: typing.List[str]
    shows: str
    environment: typing.Dict[str, str] = dataclasses.field(default_factory=dict)
    stdin: typing.Optional[str] = None
    missing: str = ""   # what is not installed, in words
    runner: typing.Optional[typing.Callable] = None   # for other than one command

    def measure(self, tools, preload, quick, timeout_s):
        """One run, measured."""
        command = self.quick if quick else self.command
        if self.runner:
            return self.runner(tools, preload, command, timeout_s)
        return measure.run(tools, preload, command, self.environment, timeout_s, self.stdin)


def program(name, shows, arguments="", quick=""):
    """A row of a program in bench/programs, with arguments for full and for quick runs."""
    path = str(paths.BUILT / name.split("-")[0])
    return Row(name, [path, *arguments.split()], [path, *quick.split()], shows)


def ghostscript():
    manual = next((path for path in MANUALS if os.path.exists(path)), None)
    missing = "" if manual and shutil.which("gs") else "needs ghostscript and r-doc-pdf"
    command = ["gs", "-q", "-dBATCH", "-dNOPAUSE", "-dNODISPLAY"]
    return Row("gs", [*command, manual or ""], [*command, "-dLastPage=300", manual or ""],
               "Ghostscript interprets the 3,500 pages of R's manual", missing=missing)


def python():
    script = str(paths.BENCH / "scripts" / "objects.py")
    missing = "" if os.path.exists(PYTHON) else f"needs {PYTHON}"
    return Row("python", [PYTHON, script, "6"], [PYTHON, script, "2"],
               "CPython: objects, dictionaries, strings, JSON",
               environment={"PYTHONMALLOC": "malloc", "PYTHONHASHSEED": "0"}, missing=missing)


def sqlite():
    command = ["sqlite3", "-batch", ":memory:"]
    missing = "" if shutil.which("sqlite3") else "needs sqlite3"
    return Row("sqlite", command, command, "sqlite3 shell: inserts, index, joins, text",
               stdin=str(paths.BENCH / "scripts" / "tables.sql"), missing=missing)



def redis_row():
    missing = "" if redis.installed() else "needs redis-server and redis-tools"
    return Row("redis", ["300000"], ["60000"],
               "redis-server: clients' time; CPU, memory and faults of the server",
               missing=missing, runner=redis.run)


def all_rows():
    """Every row, in the order of the tables."""
    return [
        program("factor", "tiny short-lived blocks, one thread (cfrac)", quick="2"),
        program("larson", "a server's sessions handed from thread to thread",
                quick="2 5000 8 1000 100"),
        program("larson-large", "the same with blocks of 1 to 64 KiB",
                "2 500 1024 65536 100 40000", "2 500 1024 65536 40 40000"),
        program("batches", "bulk allocation, frees in mixed order (sh6bench)", quick="1 100"),
        program("batches-2", "the same in two threads (sh8bench)", "2 200", "2 60"),
        program("handoff", "one thread allocates, another frees (xmalloc-test)", quick="1 80000"),
        program("mixed", "all sizes, two threads, shared and kept blocks (mstress)", quick="2 20"),
        program("mixed-8", "the same with eight threads", "8 10", "8 5"),
        program("large", "blocks of 0.1 to 8 MiB", quick="2000"),
        program("growth", "realloc from 1 to 256 MiB", quick="3"),
        ghostscript(), python(), redis_row(), sqlite(),
    ]


def choose(names, quick):
    """The rows of these names, or all; each with whether it is to be quick."""
    rows = all_rows()
    known = {row.name for row in rows}
    unknown = [name for name in names if name not in known]
    if unknown:
        raise UnknownRow(f"no row {unknown[0]}; there are {', '.join(sorted(known))}")
    return [(row, quick) for row in rows if not names or row.name in names]
