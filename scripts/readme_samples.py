#!/usr/bin/env python3
"""Writes the samples on README's first screen: what the commands print, and nothing typed.

    scripts/readme_samples.py LOAM RESULTS [--check] [--objects FOLDER] [--musl ARCHIVE]

verify and graft are run; what bench prints is of the row `python` of the results, as `loam bench
report` shows it. With --check nothing is written: the status is 1 where README shows something
else, but for numbers of what this machine's programs and libraries hold. 77: musl is not there.
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
QUESTIONS = {"verify": "does every malloc of the program and its libraries lead to loam?",
             "bench": "is it worth it? any command, under all allocators there are",
             "graft": "static programs: loam takes the place of musl's or glibc's malloc"}


def printed(*command, **keywords):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True,
                          stdin=subprocess.DEVNULL, **keywords).stdout.splitlines()


def sample(verb, words, lines):
    head = f"$ loam {verb} {words}"
    return [f"{head:38} # {QUESTIONS[verb]}", *lines]


def verify(loam):
    lines = printed(loam, "verify", PYTHON)
    return sample("verify", PYTHON, lines[:1])


def bench(loam, results, folder):
    with open(results, encoding="utf-8") as file:
        kept = json.load(file)
    kept["allocators"] = [one for one in kept["allocators"] if one["name"] in SHOWN]
    kept["rows"] = [row for row in kept["rows"] if row["name"] == ROW]
    for row in kept["rows"]:
        row["cells"] = [cell for cell in row["cells"] if cell["allocator"] in SHOWN]
    if not kept["rows"]:
        sys.exit(f"readme_samples: {results}: no row {ROW}")
    path = os.path.join(folder, "row.json")
    with open(path, "w", encoding="utf-8") as file:
        json.dump(kept, file)
    lines = printed(loam, "bench", "report", path, "--baseline", BASELINE)
    command = re.sub(r"(\{bench\}/scripts|/usr/bin)/", "", kept["rows"][0]["command"])
    return sample("bench", "-- " + command, [*tables(lines), lines[-1]])


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
    shutil.copy(musl, os.path.join(folder, "libc.a"))
    environment = {**os.environ, **({"LOAM_OBJECTS": objects} if objects else {})}
    lines = printed(loam, "graft", "libc.a", cwd=folder, env=environment)
    return sample("graft", "libc.a",
                  [line for line in lines if re.match(r"libc\.a:|  (drop|add) ", line)])


def block(arguments):
    loam = os.path.abspath(arguments.loam)
    with tempfile.TemporaryDirectory() as folder:
        samples = [verify(loam), bench(loam, arguments.results, folder),
                   graft(loam, arguments.objects, arguments.musl, folder)]
    lines = "\n\n".join("\n".join("    " + line for line in one) for one in samples)
    return f"{BEGIN}\n{NOTICE}\n\n{lines}\n{END}"


def shape(text):
    """Without the numbers that other versions of Python, musl and loam have."""
    lines = text.splitlines()
    is_of_machine = re.compile(r"    (/usr/bin/python3|libc\.a:|  drop |  add )")
    return [re.sub(r"[0-9.]+", "N", line) if is_of_machine.match(line) else line for line in lines]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("loam")
    parser.add_argument("results")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--objects")
    parser.add_argument("--musl", default=MUSL)
    arguments = parser.parse_args()
    if not os.path.exists(arguments.musl):
        print(f"readme_samples: {arguments.musl} is not there; apt-get install musl-dev",
              file=sys.stderr)
        sys.exit(77)
    readme = os.path.join(ROOT, "README.md")
    with open(readme, encoding="utf-8") as file:
        text = file.read()
    begin, end = text.index(BEGIN), text.index(END) + len(END)
    old, new = text[begin:end], block(arguments)
    if not arguments.check:
        with open(readme, "w", encoding="utf-8") as file:
            file.write(text[:begin] + new + text[end:])
    elif shape(old) != shape(new):
        sys.exit(f"README.md shows what the commands do not print; `make report` writes:\n{new}")


if __name__ == "__main__":
    main()
