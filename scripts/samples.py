#!/usr/bin/env python3
"""Writes the samples in README and docs/graft.md: what the commands print, and nothing typed.

    scripts/samples.py LOAM RESULTS [--check [--any-object]] [--objects FOLDER] [--musl ARCHIVE]

verify and graft are run; what bench prints is of the row `python` of the results, as `loam bench
report` shows it. With --check nothing is written: the status is 1 where a document shows something
else, but for numbers of what this machine's programs and libraries hold. Of loam's own object the
symbols must be as many as shown, and the KiB within a tenth, unless --any-object says that the
folder has another than `make objects` makes. 77: musl is not there.
"""
import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
BEGIN, END = "<!-- samples:begin -->", "<!-- samples:end -->"
NOTICE = "<!-- Made by `make report`; do not edit. -->"
PYTHON = "/usr/bin/python3"
MUSL = f"/usr/lib/{os.uname().machine}-linux-musl/libc.a"
ROW, SHOWN, BASELINE = "python", ("loam", "glibc", "mimalloc"), "glibc"
QUESTIONS = {"verify": "would every malloc of the program and its libraries lead to loam?",
             "bench": "is it worth it? any command, under all allocators there are",
             "graft": "static programs: loam takes the place of musl's or glibc's malloc"}


def printed(*command, **keywords):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True,
                          stdin=subprocess.DEVNULL, **keywords).stdout.splitlines()


def sample(verb, words, lines):
    head = f"$ loam {verb} {words}"
    return [f"{head:38} # {QUESTIONS[verb]}", *lines]


def verify(loam):
    lines = printed(loam, "verify", "--preloaded", PYTHON)
    return sample("verify", "--preloaded " + PYTHON, lines[:1])


def bench(loam, results, folder):
    with open(results, encoding="utf-8") as file:
        kept = json.load(file)
    kept["allocators"] = [one for one in kept["allocators"] if one["name"] in SHOWN]
    kept["rows"] = [row for row in kept["rows"] if row["name"] == ROW]
    for row in kept["rows"]:
        row["cells"] = [cell for cell in row["cells"] if cell["allocator"] in SHOWN]
    if not kept["rows"]:
        sys.exit(f"samples: {results}: no row {ROW}")
    path = os.path.join(folder, "row.json")
    with open(path, "w", encoding="utf-8") as file:
        json.dump(kept, file)
    lines = printed(loam, "bench", "report", path, "--baseline", BASELINE)
    command = re.sub(r"(\{bench\}/scripts|/usr/bin)/", "", kept["rows"][0]["command"])
    return sample("bench", "-- " + command, [*tables(lines), *answer(lines)])


def answer(lines):
    """The sentence that stands last."""
    return lines[len(lines) - lines[::-1].index(""):]


def tables(lines):
    """The judged ones, without rules between head and rows."""
    taken, is_within = [], False
    for line in lines:
        starts = re.match(r" (wall time|peak memory) ", line)
        is_within = bool(starts) or is_within and bool(line.strip())
        if is_within and not re.match("─+$", line):
            taken.append(line.rstrip())
    return taken


def graft(loam, objects, musl, folder):
    """All that it prints, of a copy of the library called libc.a."""
    shutil.copy2(musl, os.path.join(folder, "libc.a"))
    named = {"LOAM_OBJECTS": os.path.abspath(objects)} if objects else {}
    environment = {**os.environ, **named}
    return printed(loam, "graft", "libc.a", cwd=folder, env=environment)


def short_graft(lines):
    return sample("graft", "libc.a",
                  [line for line in lines if re.match(r"libc\.a:|  (drop|add) ", line)])


def long_graft(lines, musl):
    """With the first two of the members, and without advice."""
    lines = lines[:lines.index("")]
    members = [line for line in lines if re.match("   +[^ ]+: ", line)]
    shown = []
    for line in lines:
        if line not in members[2:]:
            shown.append(line.replace("libc.a", musl))
        elif line == members[2]:
            shown.append(re.match(" *", line)[0] + "...")
    return ["$ loam graft " + musl, *shown]


def blocks(arguments):
    """By document."""
    loam = os.path.abspath(arguments.loam)
    with tempfile.TemporaryDirectory() as folder:
        grafted = graft(loam, arguments.objects, arguments.musl, folder)
        samples = [verify(loam), bench(loam, arguments.results, folder), short_graft(grafted)]
    return {"README.md": block(*samples),
            "docs/graft.md": block(long_graft(grafted, MUSL))}


def block(*samples):
    lines = "\n\n".join("\n".join("    " + line for line in one) for one in samples)
    return f"{BEGIN}\n{NOTICE}\n\n{lines}\n{END}"


def shape(text):
    """Without the numbers that other versions of Python, musl and loam have."""
    is_of_machine = re.compile(r"    (/usr/bin/python3|.*libc\.a:|  (drop|add|size) )")
    return [re.sub(r"[0-9.]+", "N", line) if is_of_machine.match(line) else line
            for line in text.splitlines()]


def object_figures(text):
    symbols, kib = re.search(r"  add +loam\.o: (\d+) symbols, (\d+) KiB", text).groups()
    return int(symbols), int(kib)


def is_object_as_shown(old, new):
    (old_symbols, old_kib), (symbols, kib) = object_figures(old), object_figures(new)
    return old_symbols == symbols and abs(kib - old_kib) * 10 <= old_kib


def write_or_check(document, new, arguments):
    path = os.path.join(ROOT, document)
    with open(path, encoding="utf-8") as file:
        text = file.read()
    begin, end = text.index(BEGIN), text.index(END) + len(END)
    old = text[begin:end]
    if not arguments.check:
        with open(path, "w", encoding="utf-8") as file:
            file.write(text[:begin] + new + text[end:])
    elif shape(old) != shape(new) or not (arguments.any_object or is_object_as_shown(old, new)):
        sys.exit(f"{document} shows what the commands do not print; `make report` writes:\n{new}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("loam")
    parser.add_argument("results")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--any-object", action="store_true")
    parser.add_argument("--objects")
    parser.add_argument("--musl", default=MUSL)
    arguments = parser.parse_args()
    if not os.path.exists(arguments.musl):
        print(f"samples: {arguments.musl} is not there; apt-get install musl-dev",
              file=sys.stderr)
        sys.exit(77)
    for document, new in blocks(arguments).items():
        write_or_check(document, new, arguments)


if __name__ == "__main__":
    main()
