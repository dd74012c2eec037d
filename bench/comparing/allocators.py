"""The allocators that take part, and the proof that a preload took effect."""
import dataclasses
import os
import pathlib
import subprocess
import sys
import typing

from . import paths

DEFAULT_NAMES = ["loam", "glibc", "mimalloc", "snmalloc", "jemalloc", "gperftools", "rpmalloc"]


class UnknownAllocator(Exception):
    """A name that stands for no library."""


@dataclasses.dataclass(frozen=True)
class Allocator:
    """A malloc to preload; without a library it is the system's own."""

    name: str
    library: typing.Optional[pathlib.Path]

    @property
    def preload(self):
        return str(self.library) if self.library else "-"

    @property
    def version(self):
        note = paths.PEERS / f"{self.name}.version"
        return note.read_text().strip() if note.exists() else ""


def choose(names, libraries):
    """The allocators by comma-separated names (or the defaults) and NAME=PATH additions."""
    extra = {}
    for definition in libraries:
        name, separator, path = definition.partition("=")
        if not separator:
            raise UnknownAllocator(f"--library takes NAME=PATH, not {definition}")
        extra[name] = pathlib.Path(path).resolve()
    wanted = names.split(",") if names else DEFAULT_NAMES
    wanted = wanted + [name for name in extra if name not in wanted]
    return [find(name, extra, required=bool(names)) for name in wanted]


def find(name, extra, required):
    """One allocator; its library need not be there."""
    if name == "glibc":
        return Allocator(name, None)
    if name in extra:
        return Allocator(name, extra[name])
    if name == "loam":
        return Allocator(name, paths.LOAM)
    library = paths.PEERS / f"{name}.so"
    if required and not library.exists():
        raise UnknownAllocator(f"no {library}: bench/peers.sh gets it, or --library {name}=PATH")
    return Allocator(name, library)


def verified(allocators, tools):
    """Those whose malloc really answers; one line on stderr for each that is left out."""
    usable = []
    for allocator in allocators:
        complaint = complaint_about(allocator, tools)
        if complaint:
            print(f"compare: leaving out {allocator.name}: {complaint}", file=sys.stderr)
        else:
            usable.append(allocator)
    return usable


def complaint_about(allocator, tools):
    """Why an allocator cannot be used, or None."""
    if allocator.library is None:
        return None
    if not allocator.library.exists():
        return f"no {allocator.library}"
    environment = dict(os.environ, LD_PRELOAD=str(allocator.library))
    done = subprocess.run([str(tools / "who")], env=environment, capture_output=True, text=True)
    if done.returncode:
        return f"a first malloc under it ended with {done.returncode}: {done.stderr.strip()}"
    expected = allocator.library.resolve()
    for file in done.stdout.splitlines():
        if pathlib.Path(file).resolve() != expected:
            return f"preloaded, but malloc or free is still that of {file}"
    return None
