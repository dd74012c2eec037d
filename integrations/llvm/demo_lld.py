#!/usr/bin/env python3
"""Is it worth it? lld linked with loam and with others, and timed at one ThinLTO link.

    integrations/llvm/demo_lld.py FOLDER [--rounds N] [--link quick|full|whole] [--linked]

Needs `make` (loam.o), `make peers` (the other allocators' sources, and the objects to link), and
Debian's llvm-14-dev and liblld-14-dev. Links lld's driver (lld.cpp) from LLVM's static libraries
once for each allocator, first on the link line; checks that each makes, to the byte, what plain
lld makes; then runs all of them in shuffled rounds. Prints a table in Markdown.
"""
import argparse
import filecmp
import os
import random
import re
import shutil
import statistics
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
LLVM = "/usr/lib/llvm-14"
LLD_LIBRARIES = ("lldELF", "lldCommon")
# Read by lld at its start, from the environment that it is measured in.
QUIET = {"LD_PRELOAD": "", "LOAM_OPTIONS": ""}


class Failure(Exception):
    """What is wrong, as one line."""


def run(*command):
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode != 0:
        lines = (result.stderr or result.stdout).strip().splitlines() or ["no output"]
        raise Failure(next((line for line in lines if "error" in line),
                           f"{command[0]}: {lines[-1]}"))
    return result.stdout


def existing(path, remedy):
    if not os.path.exists(path):
        raise Failure(f"{path}: does not exist; {remedy}")
    return path


def crate(peers, name):
    folder = os.path.join(peers, "scratch", name, "vendor", name)
    return existing(folder, "`make peers` fetches it")


def compile_mimalloc(peers, output):
    folder = os.path.join(crate(peers, "libmimalloc-sys"), "c_src", "mimalloc", "v3")
    run("gcc", "-std=gnu11", "-O3", "-DNDEBUG", "-fvisibility=hidden", "-fno-builtin-malloc",
        "-ftls-model=initial-exec", "-DMI_MALLOC_OVERRIDE", "-I" + folder + "/include",
        "-I" + folder + "/src", "-c", folder + "/src/static.c", "-o", output)


def compile_rpmalloc(peers, output):
    folder = os.path.join(crate(peers, "rpmalloc-sys"), "rpmalloc", "rpmalloc")
    run("gcc", "-std=gnu11", "-O3", "-DNDEBUG", "-fvisibility=hidden", "-fno-builtin-malloc",
        "-ftls-model=initial-exec", "-D_GNU_SOURCE=1", "-DENABLE_OVERRIDE=1",
        "-DENABLE_PRELOAD=1", "-c", folder + "/rpmalloc.c", "-o", output)


def compile_snmalloc(peers, output):
    folder = os.path.join(crate(peers, "snmalloc-sys"), "upstream", "src")
    parts = []
    for name in ("malloc", "new"):
        parts.append(f"{output}.{name}.o")
        run("g++", "-std=c++20", "-O3", "-DNDEBUG", "-fvisibility=hidden", "-mcx16", "-mprfchw",
            "-fno-rtti", "-fomit-frame-pointer", "-ftls-model=initial-exec", "-pthread",
            "-DSNMALLOC_USE_WAIT_ON_ADDRESS=1", "-DSNMALLOC_USE_CXX11_THREAD_ATEXIT_DIRECT",
            '-DSNMALLOC_EXPORT=__attribute__((visibility("default")))', "-I" + folder, "-c",
            f"{folder}/snmalloc/override/{name}.cc", "-o", parts[-1])
    run("ld", "-r", *parts, "-o", output)


def copy_loam(_, output):
    shutil.copy(existing(os.path.join(ROOT, "build", "lib", "loam.o"), "run `make`"), output)


ALLOCATORS = {"glibc": None, "mimalloc": compile_mimalloc, "rpmalloc": compile_rpmalloc,
              "snmalloc": compile_snmalloc, "loam": copy_loam}


def llvm_libraries():
    config = existing(LLVM + "/bin/llvm-config", "install llvm-14-dev")
    listed = run(config, "--link-static", "--libs", "all").split()
    system = run(config, "--link-static", "--system-libs").split()
    # Polly is a plugin that no link needs.
    return [name for name in listed if "Polly" not in name] + system


def link_driver(folder, name, peers):
    """Links the driver with the allocator NAME; checks that its malloc is in the program."""
    program = os.path.join(folder, "lld-" + name)
    objects = []
    if ALLOCATORS[name] is not None:
        objects.append(os.path.join(folder, name + ".o"))
        ALLOCATORS[name](peers, objects[0])
    driver = os.path.join(folder, "lld.o")
    run("g++", *objects, driver, "-o", program, "-L" + LLVM + "/lib", "-Wl,--start-group",
        *("-l" + library for library in LLD_LIBRARIES), *llvm_libraries(), "-Wl,--end-group",
        "-latomic", "-pthread")
    defines_malloc = re.search(r" T malloc$", run("nm", program), re.M) is not None
    if defines_malloc != bool(objects):
        raise Failure(f"{program}: its malloc is not {name}'s")


def link_drivers(folder, peers):
    os.makedirs(folder, exist_ok=True)
    run("g++", "-std=c++17", "-O2", "-fno-rtti", "-fno-exceptions", "-I" + LLVM + "/include",
        "-c", os.path.join(os.path.dirname(__file__), "lld.cpp"), "-o",
        os.path.join(folder, "lld.o"))
    for name in ALLOCATORS:
        print(f"demo-lld: linking lld with {name}", file=sys.stderr)
        link_driver(folder, name, peers)


def link_once(program, response, output):
    """Seconds of wall and processor time, and the peak resident memory in MiB."""
    begin = time.monotonic()
    process = subprocess.Popen([program, "@" + response, "-o", output],
                               env={**os.environ, **QUIET})
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.monotonic() - begin
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise Failure(f"{program}: ended with status {process.returncode}")
    return wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def measure(programs, response, folder, reference, rounds):
    results = {name: [] for name in programs}
    for number in range(rounds + 1): # the first warms up, and checks what comes out
        for name in random.sample(list(programs), len(programs)):
            output = os.path.join(folder, f"{name}.out")
            result = link_once(programs[name], response, output)
            if not filecmp.cmp(output, reference, shallow=False):
                raise Failure(f"{output}: not what plain lld has made, {reference}")
            if number > 0:
                results[name].append(result)
    return results


def print_table(results):
    medians = {name: [statistics.median(column) for column in zip(*runs)]
               for name, runs in results.items()}
    spread = {name: [f"{min(column):.2f} to {max(column):.2f}" for column in zip(*runs)]
              for name, runs in results.items()}
    print("| allocator | wall, s | from, to | / loam's | processor, s | peak, MiB | / loam's |")
    print("|---|--:|---|--:|--:|--:|--:|")
    own = medians["loam"]
    for name, (wall, processor, peak) in medians.items():
        print(f"| {name} | {wall:.2f} | {spread[name][0]} | {wall / own[0]:.2f} "
              f"| {processor:.2f} | {peak:.0f} | {peak / own[2]:.2f} |")


def demonstrate(options):
    peers = existing(os.path.join(options.data, "peers"), "run `make peers`")
    thinlto = existing(os.path.join(options.data, "bench-data", "thinlto"), "run `make peers`")
    programs = {name: os.path.join(options.folder, "lld-" + name) for name in ALLOCATORS}
    if options.linked:
        for program in programs.values():
            existing(program, "leave out --linked, and it is made")
    else:
        link_drivers(options.folder, peers)
    response = existing(os.path.join(thinlto, options.link + ".link"), "run `make peers`")
    reference = os.path.join(thinlto, options.link + ".out")
    print(f"demo-lld: {options.rounds} rounds and one to warm up", file=sys.stderr)
    print_table(measure(programs, response, options.folder, reference, options.rounds))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", help="where the linked programs go")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--link", choices=("quick", "full", "whole"), default="full")
    parser.add_argument("--linked", action="store_true",
                        help="measure the programs that a run before has linked")
    parser.add_argument("--data", default=os.path.join(ROOT, "build"),
                        help="the folder with peers and bench-data")
    try:
        demonstrate(parser.parse_args())
    except Failure as failure:
        print(f"demo-lld: {failure}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
