#!/usr/bin/env python3
"""The dictionary benchmark on C libraries with and without loam, statically linked on musl.

    graft.py build FOLDER      builds the programs, in C++ (Zig's compiler) and in Rust
    graft.py measure FOLDER [ROUNDS] [cxx|rust] ...    medians, in seconds

On musl as it is, with mimalloc's object first, and grafted with loam; on glibc as it is and with
loam preloaded. Needs `make all objects`, musl-gcc, the Rust target, and
`pip install ziglang==0.15.2` (later ones have no musl malloc). The C libraries
are copies; those installed stay as they are.
"""
import os
import random
import re
import shutil
import statistics
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PROGRAMS = ROOT / "bench" / "programs"
LOAM = ROOT / "build" / "bin" / "loam"
OBJECTS = ROOT / "build" / "lib" / "graft"
PRELOAD = ROOT / "build" / "lib" / "libloam.so"
MIMALLOC_CRATE_VERSION = "0.1.49" # brings mimalloc 2.3 and 3.3
RUST_TARGET = "x86_64-unknown-linux-musl"
ZIG = [sys.executable, "-m", "ziglang"]
ZIG_CXX = [*ZIG, "c++", "-O2", "-std=c++17", "-w", PROGRAMS / "dictionary.cpp"]

LANGUAGES = ["cxx", "rust"]
# Column: the program that is built, and what is preloaded.
COLUMNS = {"musl": ("musl", None), "musl, mimalloc": ("mimalloc", None),
           "musl, grafted": ("grafted", None), "glibc": ("glibc", None),
           "glibc, loam": ("glibc", PRELOAD)}
# Version of the benchmark, threads, amount of work: chosen to be shared out evenly.
WORK = [("1", "2", "2000000"), ("1", "8", "2000000"), ("2", "2", "24"), ("2", "8", "24")]
SECONDS = re.compile(r" ([0-9.]+) s,")


def run(*command, **options):
    result = subprocess.run([str(word) for word in command], capture_output=True, text=True,
                            **options)
    if result.returncode != 0:
        sys.exit(f"{command[0]}: status {result.returncode}\n{result.stdout}{result.stderr}")
    return result.stdout + result.stderr


def build_mimalloc(folder):
    crate = run("bash", "-c", '. "$0" && crate "$1" libmimalloc-sys "$2"',
                ROOT / "bench" / "packages.sh", folder / "crates", MIMALLOC_CRATE_VERSION)
    source = Path(crate.splitlines()[-1]) / "c_src" / "mimalloc" / "v3"
    # The flags of mimalloc's own build of its object.
    run("musl-gcc", "-std=gnu11", "-O3", "-DNDEBUG", "-fPIC", "-fvisibility=hidden",
        "-ftls-model=initial-exec", "-fno-builtin-malloc", "-DMI_MALLOC_OVERRIDE", "-w",
        f"-I{source}/include", f"-I{source}/src", "-c", source / "src" / "static.c",
        "-o", folder / "mimalloc.o")


def graft(library):
    run(LOAM, "graft", library, "--objects", OBJECTS)


def zig_link_line(folder):
    """The command by which Zig links the program with its musl, without the program's objects."""
    target = ["-target", "x86_64-linux-musl", "-static", "--verbose"]
    lines = run(*ZIG_CXX, *target, "-o", folder / "cxx-musl").splitlines()
    return next(line for line in lines if line.startswith("ld.lld ")).split()


def build_cxx(folder):
    line = zig_link_line(folder)
    run(*ZIG_CXX, "-target", "x86_64-linux-gnu.2.36", "-o", folder / "cxx-glibc")
    libc = next(i for i, word in enumerate(line) if word.endswith("/libc.a"))
    start = next(i for i, word in enumerate(line) if word.endswith("/crt1.o"))
    output = line.index("-o") + 1
    grafted = folder / "cxx-libc" / "libc.a"
    grafted.parent.mkdir(exist_ok=True)
    shutil.copy(line[libc], grafted)
    if not grafted.with_name("libc.a.loam-original").exists():
        graft(grafted)
    for name, changes in (("grafted", {libc: [grafted]}),
                          ("mimalloc", {start: [line[start], folder / "mimalloc.o"]})):
        words = [[word] for word in line]
        for index, change in {**changes, output: [folder / f"cxx-{name}"]}.items():
            words[index] = change
        run(*ZIG, *(word for group in words for word in group))


def grafted_sysroot(folder):
    """A copy of the Rust toolchain whose musl is grafted; what is not changed is linked."""
    libraries = Path(run("rustc", "--print", "target-libdir", "--target", RUST_TARGET).strip())
    copy = folder / "sysroot" / "lib" / "rustlib" / RUST_TARGET / "lib"
    shutil.rmtree(folder / "sysroot", ignore_errors=True)
    shutil.copytree(libraries / "self-contained", copy / "self-contained")
    for file in libraries.iterdir():
        if file.is_file():
            (copy / file.name).symlink_to(file)
    graft(folder / "sysroot")
    return folder / "sysroot"


def build_rust(folder):
    rustc = ["rustc", "--edition", "2024", "-O", PROGRAMS / "dictionary-rust/src/main.rs"]
    archive = folder / "libmimalloc.a"
    archive.unlink(missing_ok=True)
    run("ar", "rcs", archive, folder / "mimalloc.o")
    first = ["-L", f"native={folder}", "-l", "static:+whole-archive=mimalloc"]
    for name, flags in (("glibc", []), ("musl", ["--target", RUST_TARGET]),
                        ("mimalloc", ["--target", RUST_TARGET, *first]),
                        ("grafted", ["--target", RUST_TARGET, "--sysroot",
                                     grafted_sysroot(folder)])):
        run(*rustc, *flags, "-o", folder / f"rust-{name}")


def seconds_of(program, preload, work):
    environment = dict(os.environ)
    if preload is not None:
        environment["LD_PRELOAD"] = str(preload)
    found = SECONDS.search(run(program, *work, env=environment))
    if found is None:
        sys.exit(f"{program}: does not say how long it took")
    return float(found[1])


def measure(folder, rounds, languages):
    measured = {}
    cells = [(language, work, column) for language in languages for work in WORK
             for column in COLUMNS]
    for _ in range(rounds):
        random.shuffle(cells)
        for language, work, column in cells:
            name, preload = COLUMNS[column]
            measured.setdefault((language, work, column), []).append(
                seconds_of(folder / f"{language}-{name}", preload, work))
    print("| program | version | threads |", *(f" {column} |" for column in COLUMNS), sep="")
    print("|---|--:|--:|", "--:|" * len(COLUMNS), sep="")
    for language in languages:
        for work in WORK:
            medians = (statistics.median(measured[language, work, column]) for column in COLUMNS)
            title = {"cxx": "C++", "rust": "Rust"}[language]
            print(f"| {title} | {work[0]} | {work[1]} |",
                  *(f" {median:.3f} |" for median in medians), sep="")


def build(folder):
    folder.mkdir(parents=True, exist_ok=True)
    build_mimalloc(folder)
    build_rust(folder)
    build_cxx(folder)


def main():
    words = sys.argv[1:]
    if len(words) == 2 and words[0] == "build":
        return build(Path(words[1]).resolve())
    if len(words) < 2 or words[0] != "measure":
        sys.exit(__doc__)
    rounds = next((int(word) for word in words[2:] if word.isdigit()), 5)
    languages = [word for word in words[2:] if word in LANGUAGES]
    return measure(Path(words[1]).resolve(), rounds, languages or LANGUAGES)


if __name__ == "__main__":
    main()
