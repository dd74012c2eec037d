"""The licences of the packages that are linked into the command, as these ask to be passed on."""
import glob
import os

from releasing import packages

HEADING = """The command `loam` is linked with the packages below, from Rust's registry, and with
Rust's standard library, musl, libunwind and compiler-rt. loam itself is under the MIT license or the
Apache License, version 2.0.

"""
NAMES = ("LICEN[CS]E*", "COPYING*", "UNLICENSE*", "NOTICE*")


def texts(package):
    folder = os.path.dirname(package["manifest_path"])
    paths = {path for name in NAMES for path in glob.glob(f"{folder}/{name}")}
    for path in sorted(filter(os.path.isfile, paths)):
        with open(path, encoding="utf-8", errors="replace") as file:
            yield file.read().strip()


def document(processor):
    """Each text once, below the names of all packages that carry it."""
    found = packages.by_id(processor)
    root, asked = packages.linked(processor)
    names_of = {}
    lines = [HEADING]
    for package in sorted((found[one] for one in asked if one != root), key=lambda one: one["id"]):
        name = f"{package['name']} {package['version']}"
        lines.append(f"{name}: {package['license'] or 'see below'}\n")
        for text in texts(package):
            names_of.setdefault(text, []).append(name)
    for text, names in sorted(names_of.items(), key=lambda item: item[1]):
        lines.append(f"\n---- {', '.join(names)}\n\n{text}\n")
    return "".join(lines)
