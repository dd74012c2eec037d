#!/usr/bin/env python3
"""Writes loam as two files, and as a source tarball.

    scripts/dist.py FOLDER

FOLDER gets loam.c (all of src/ as one C11 file), loam.h (the public header), loam-VERSION.tar.gz
(this repository's files, with those two in dist/) and loam.wrap (Meson's name for the tarball). The
same sources give the same bytes, whenever and wherever it runs.
"""
import gzip
import hashlib
import io
import os
import re
import subprocess
import sys
import tarfile
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"')
CONDITION = re.compile(r"^\s*#\s*(if|ifdef|ifndef|elif|else|endif)\b\s*(.*?)\s*$")
GUARD = re.compile(r"^#ifndef LM_[A-Z0-9_]+_H$")
PUBLIC_HEADER = "loam/loam.h"

HEADING = """/* loam {version}: a general-purpose memory allocator, all of it in this one C11 file.
 *
 * Compiled as it is, it replaces malloc, its family, and C++'s operators new and delete in the
 * program that it is linked into. With LOAM_NO_OVERRIDE defined it offers only the functions of
 * loam.h, under the prefix loam_. Compile it as C, with optimisation; docs/vendoring.md says which
 * other flags are worth giving.
 *
 * Generated from loam's sources: change those, not this file.
 *
 * License: MIT OR Apache-2.0. The MIT license:
 *
{licence}
 */
"""


# Meson takes a tarball without an address from subprojects/packagefiles.
WRAP = """[wrap-file]
directory = {name}
source_filename = {name}.tar.gz
source_hash = {checksum}

[provide]
loam = loam_dep
loam-override = loam_override_dep
"""


class Failure(Exception):
    """What is wrong, as one line."""


def read(path):
    try:
        with open(os.path.join(ROOT, path), encoding="utf-8") as file:
            return file.read()
    except OSError as error:
        raise Failure(f"{error.filename}: {error.strerror}") from error


def version():
    match = re.search(r'^#define LOAM_VERSION "([^"]+)"', read("include/" + PUBLIC_HEADER), re.M)
    if match is None:
        raise Failure(f"include/{PUBLIC_HEADER}: no line #define LOAM_VERSION")
    return match[1]


def included_path(name, including):
    for folder in (os.path.dirname(including), "src", "include"):
        path = os.path.normpath(os.path.join(folder, name))
        if os.path.exists(os.path.join(ROOT, path)):
            return path
    raise Failure(f"{including}: includes {name}, which does not exist")


class Conditions:
    """Under which #if a line stands, but for what keeps a header from being included twice."""
    def __init__(self, outer):
        self.stack = list(outer)
        self.outer_depth = len(outer)

    def see(self, line):
        match = CONDITION.match(line)
        if match is None:
            return
        word, condition = match.groups()
        if word.startswith("if"):
            self.stack.append(None if GUARD.match(line) else (word, condition))
        elif len(self.stack) == self.outer_depth:
            raise Failure(f"a line #{word} without its #if")
        else:
            before = self.stack.pop()
            if word != "endif":
                self.stack.append((before, word, condition))

    def now(self):
        return [condition for condition in self.stack if condition is not None]


def resolved(path, outer, seen):
    """The lines of a file, with the files that it includes in their places, each once. SEEN: under
    which conditions each stands. Who else includes it must do so under the same ones, or more."""
    seen[path] = outer
    conditions = Conditions(outer)
    yield f"/* ---- {path} ---- */"
    for line in read(path).splitlines():
        conditions.see(line)
        match = INCLUDE.match(line)
        if match is None:
            yield line
        elif match[1] == PUBLIC_HEADER:
            yield '#include "loam.h"'
        else:
            target, now = included_path(match[1], path), conditions.now()
            if target not in seen:
                yield from resolved(target, now, seen)
            elif not all(condition in now for condition in seen[target]):
                raise Failure(f"{path}: includes {match[1]}, which stands under another condition: "
                              "include it outside of conditions")


def amalgamation():
    licence = "\n".join(f" * {line}".rstrip() for line in read("LICENSE-MIT").strip().splitlines())
    lines = resolved("src/loam.c", [], {})
    return HEADING.format(version=version(), licence=licence) + "\n".join(lines) + "\n"


def repository_files():
    try:
        result = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True,
                                check=False)
    except OSError as error:
        raise Failure(f"git cannot be run, and lists the tarball's files: {error.strerror}"
                      ) from error
    if result.returncode != 0:
        raise Failure(f"{ROOT}: the tarball is made from a git repository: "
                      + result.stderr.decode(errors="replace").strip().splitlines()[0])
    return [name for name in result.stdout.decode().split("\0")
            if name and os.path.isfile(os.path.join(ROOT, name))]


def tarball(name, generated):
    contents = {f"dist/{file}": (text.encode(), False) for file, text in generated.items()}
    for path in repository_files():
        with open(os.path.join(ROOT, path), "rb") as file:
            contents[path] = (file.read(), os.access(os.path.join(ROOT, path), os.X_OK))
    return packed(name, contents)


def packed(name, contents, level=9):
    """A tarball without times, users and the order of a folder. CONTENTS: for each path in it the
    bytes, and whether the file is executable."""
    stream = io.BytesIO()
    with gzip.GzipFile("", "wb", level, stream, mtime=0) as file, \
            tarfile.open(fileobj=file, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for path, (data, is_executable) in sorted(contents.items()):
            entry = tarfile.TarInfo(f"{name}/{path}")
            entry.size = len(data)
            entry.mode = 0o755 if is_executable else 0o644
            archive.addfile(entry, io.BytesIO(data))
    return stream.getvalue()


def write(folder, name, data):
    """Whole or not at all."""
    path = os.path.join(folder, name)
    try:
        os.makedirs(folder, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=folder, delete=False) as file:
            file.write(data)
        os.chmod(file.name, 0o644)
        os.replace(file.name, path)
    except OSError as error:
        raise Failure(f"{path}: cannot be written: {error.strerror}") from error


def write_all(folder):
    generated = {"loam.c": amalgamation(), "loam.h": read("include/" + PUBLIC_HEADER)}
    name = f"loam-{version()}"
    source = tarball(name, generated)
    for file, text in generated.items():
        write(folder, file, text.encode())
    write(folder, f"{name}.tar.gz", source)
    checksum = hashlib.sha256(source).hexdigest()
    write(folder, "loam.wrap", WRAP.format(name=name, checksum=checksum).encode())


def main():
    if len(sys.argv) != 2:
        print(f"usage: {sys.argv[0]} FOLDER", file=sys.stderr)
        return 2
    try:
        write_all(sys.argv[1])
    except Failure as failure:
        print(f"dist: {failure}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
