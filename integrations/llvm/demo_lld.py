#!/usr/bin/env python3
"""Is it worth it? lld linked with loam and with others, and timed at one ThinLTO link.

    integrations/llvm/demo_lld.py FOLDER [--llvm 14 19] [--cache none cold warm] [--rounds N]
                                    [--link quick|full|whole] [--linked]

Needs `make` (loam.o), `make peers` (the other allocators' sources, and the objects to link), and
Debian's packages of LLVM, which it installs as root. For each version, links lld's driver (lld.cpp)
from LLVM's static libraries once for each allocator, first on the link line; checks that each
makes, to the byte, what plain lld makes; then runs all of them in shuffled rounds: with ThinLTO's
cache cold, that is empty, and warm, with all of it compiled already; `none` is without a cache.
Prints tables in Markdown.
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
VERSIONS = ("14", "19")
PACKAGES = ("llvm-{}-dev", "liblld-{}-dev", "lld-{}")
CACHES = ("none", "cold", "warm")
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


class Llvm:
    """One version of LLVM as Debian has it, and lld linked from it with each allocator."""

    def __init__(self, version, folder):
        self.version = version
        self.root = "/usr/lib/llvm-" + version
        self.folder = os.path.join(folder, "llvm-" + version)
        self.programs = {name: os.path.join(self.folder, "lld-" + name) for name in ALLOCATORS}

    def install(self):
        packages = [name.format(self.version) for name in PACKAGES]
        lld = os.path.join(self.root, "lib", "liblldELF.a")
        config = os.path.join(self.root, "bin", "llvm-config")
        if os.path.exists(lld) and os.path.exists(config):
            return
        if os.geteuid() == 0:
            run("apt-get", "install", "-y", "-q", "--no-install-recommends", *packages)
        existing(lld, "install " + " ".join(packages))

    def libraries(self):
        config = os.path.join(self.root, "bin", "llvm-config")
        listed = run(config, "--link-static", "--libs", "all").split()
        system = run(config, "--link-static", "--system-libs").split()
        # Polly is a plugin that no link needs.
        return [name for name in listed if "Polly" not in name] + system

    def plain_link(self, response):
        """What this version's own lld makes."""
        output = os.path.join(self.folder, "plain.out")
        run(os.path.join(self.root, "bin", "ld.lld"), "@" + response, "-o", output)
        return output


def link_driver(llvm, name, peers):
    """Links the driver with the allocator NAME; checks that its malloc is in the program."""
    program = llvm.programs[name]
    objects = []
    if ALLOCATORS[name] is not None:
        objects.append(os.path.join(llvm.folder, name + ".o"))
        ALLOCATORS[name](peers, objects[0])
    driver = os.path.join(llvm.folder, "lld.o")
    run("g++", *objects, driver, "-o", program, "-L" + llvm.root + "/lib", "-Wl,--start-group",
        *("-l" + library for library in LLD_LIBRARIES), *llvm.libraries(), "-Wl,--end-group",
        "-latomic", "-pthread")
    defines_malloc = re.search(r" T malloc$", run("nm", program), re.M) is not None
    if defines_malloc != bool(objects):
        raise Failure(f"{program}: its malloc is not {name}'s")


def link_drivers(llvm, peers):
    os.makedirs(llvm.folder, exist_ok=True)
    llvm.install()
    run("g++", "-std=c++17", "-O2", "-fno-rtti", "-fno-exceptions", "-I" + llvm.root + "/include",
        "-c", os.path.join(os.path.dirname(__file__), "lld.cpp"), "-o",
        os.path.join(llvm.folder, "lld.o"))
    for name in ALLOCATORS:
        print(f"demo-lld: linking lld {llvm.version} with {name}", file=sys.stderr)
        link_driver(llvm, name, peers)


def link_once(program, response, output, cache):
    """Seconds of wall and processor time, and the peak resident memory in MiB."""
    begin = time.monotonic()
    process = subprocess.Popen([program, "@" + response, "-o", output, *cache],
                               env={**os.environ, **QUIET})
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.monotonic() - begin
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise Failure(f"{program}: ended with status {process.returncode}")
    return wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def measure(llvm, response, reference, rounds, cache):
    """Runs of each allocator, with one of CACHES."""
    results = {name: [] for name in llvm.programs}
    folder = os.path.join(llvm.folder, "cache")
    options = [] if cache == "none" else ["--thinlto-cache-dir=" + folder]
    shutil.rmtree(folder, ignore_errors=True)
    for number in range(rounds + 1): # the first warms up, and checks what comes out
        for name in random.sample(list(llvm.programs), len(llvm.programs)):
            if cache == "cold":
                shutil.rmtree(folder, ignore_errors=True)
            output = os.path.join(llvm.folder, f"{name}.out")
            result = link_once(llvm.programs[name], response, output, options)
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
    response = existing(os.path.join(thinlto, options.link + ".link"), "run `make peers`")
    versions = [Llvm(version, options.folder) for version in options.llvm]
    for llvm in versions:
        if options.linked:
            for program in llvm.programs.values():
                existing(program, "leave out --linked, and it is made")
        else:
            link_drivers(llvm, peers)
    print(f"demo-lld: {options.rounds} rounds and one to warm up", file=sys.stderr)
    for llvm in versions:
        reference = llvm.plain_link(response)
        for cache in options.cache:
            print(f"\nLLVM {llvm.version}, cache {cache}:\n")
            print_table(measure(llvm, response, reference, options.rounds, cache))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", help="where the linked programs go")
    parser.add_argument("--llvm", nargs="+", choices=VERSIONS, default=VERSIONS,
                        help="its versions (all)")
    parser.add_argument("--cache", nargs="+", choices=CACHES, default=("cold", "warm"),
                        help="ThinLTO's (cold warm)")
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
