#!/usr/bin/env python3
"""Writes what the page of a release carries.

    scripts/release.py OUTPUT [--arch ARCH]... [--build FOLDER] [--objects FOLDER]
                       [--soon glibc|musl]

For each processor: a tarball with the static command, the libraries, the objects, documents, man
pages and completions; a Debian package; a Python wheel; what the command is made of (CycloneDX).
For all: the sources (scripts/dist.py), both crates, SHA256SUMS. The same commit gives the same
bytes.
"""
import argparse
import glob
import hashlib
import os
import shutil
import sys

import deb
import dist
from dist import Failure
from releasing import command, crates, library, notices, processors, sbom, wheel, windows
from releasing.process import output_of

THIRD_PARTY = "share/doc/loam/third-party.txt"


class Parser(argparse.ArgumentParser):
    def error(self, message):
        self.exit(2, f"release: {message}\n")


def arguments():
    parser = Parser(description="Writes what the page of a release carries.")
    parser.add_argument("output")
    parser.add_argument("--arch", action="append", choices=list(processors.ALL),
                        help="a processor; again for others (all)")
    parser.add_argument("--build", default="build/release", help="where it is built (%(default)s)")
    parser.add_argument("--objects", help="where loam's objects are, if they are made already")
    parser.add_argument("--soon", choices=["glibc", "musl"], metavar="LIBC",
                        help="for tests: without optimisation, the command linked with glibc, from "
                        "crates that the tests have compiled, or with musl")
    return parser.parse_args()


def set_time():
    """The commit's, unless the caller has set one."""
    if "SOURCE_DATE_EPOCH" not in os.environ:
        moment = output_of("git", "log", "-1", "--format=%ct").strip()
        os.environ["SOURCE_DATE_EPOCH"] = moment


def installed(build, prefix, library_folder, processor):
    """An empty root with what CMake installs under the prefix."""
    root = build + "/root"
    shutil.rmtree(root, ignore_errors=True)
    library.configure(processor, build, prefix, library_folder)
    library.install(build, root)
    return root


def files(folder):
    """For each path in a folder the bytes, and whether the file is executable."""
    found = {}
    for place, _, names in os.walk(folder):
        for path in (os.path.join(place, name) for name in names):
            with open(path, "rb") as file:
                found[os.path.relpath(path, folder)] = (file.read(), os.access(path, os.X_OK))
    return found


def compile_all(processor, build, options):
    """BUILD gets bin and lib, man and completions, from where CMake installs them."""
    carried = {
        "LOAM_EMBED_LIBRARY": library.compile_library(processor, build, options.soon is not None),
        "LOAM_EMBED_TWIN": library.compile_twins(processor, build, options.soon is not None)}
    os.makedirs(build + "/bin", exist_ok=True)
    shutil.copy(command.compile_command(processor, carried, options.build, options.soon),
                build + "/bin/loam")
    output_of("scripts/share.sh", build, *processor.runner(), build + "/bin/loam")
    shutil.rmtree(build + "/lib/graft", ignore_errors=True)
    os.makedirs(build + "/lib/graft")
    for path in glob.glob(options.objects + "/loam-*.o"):
        shutil.copy(path, build + "/lib/graft")


def write_packages(processor, build, output, windows_folder, is_soon):
    third_party = notices.document(processor).encode()
    tree = files(installed(build, "/usr/local", "lib", processor) + "/usr/local")
    tree[THIRD_PARTY] = (third_party, False)
    name = f"loam-{dist.version()}-{processor.name}-linux"
    archive = tree | {"windows/" + path: file for path, file in files(windows_folder).items()}
    dist.write(output, name + ".tar.gz", dist.packed(name, archive, 1 if is_soon else 9))
    wheel.write(processor, tree, output)
    root = installed(build, "/usr", "lib/" + processor.multiarch, processor)
    deb.put(f"{root}/usr/{THIRD_PARTY}", third_party)
    deb.make(root, output, processor.debian, "-z1" if is_soon else "-z9")


def write_checksums(output):
    lines = []
    for path in sorted(glob.glob(output + "/*")):
        name = os.path.basename(path)
        with open(path, "rb") as file:
            lines.append(f"{hashlib.sha256(file.read()).hexdigest()}  {name}\n")
    dist.write(output, "SHA256SUMS", "".join(lines).encode())


def publish(staged, output):
    """In the place of what another release has left there; nothing else is touched."""
    os.makedirs(output, exist_ok=True)
    for path in glob.glob(output + "/loam*") + glob.glob(output + "/SHA256SUMS"):
        os.remove(path)
    for name in sorted(os.listdir(staged)):
        shutil.move(os.path.join(staged, name), output)
        print(f"release: {os.path.join(output, name)}")


def check_tools(chosen):
    """What is missing is said before anything is built."""
    command.zig()
    windows.check_tools()
    for processor in chosen:
        processor.c_compiler()
        processor.twin.c_compiler()
        processor.runner()
        command.rust_for(processor.rust_target)


def release(options):
    os.umask(0o022)
    set_time()
    chosen = [processors.ALL[name] for name in options.arch or processors.ALL]
    check_tools(chosen)
    options.build = os.path.abspath(options.build)
    staged = options.build + "/staged"
    shutil.rmtree(staged, ignore_errors=True)
    dist.write_all(staged)
    crates.write(staged, options.build + "/crates")
    if options.objects is None:
        options.objects = options.build + "/graft"
        library.compile_objects(options.objects, options.build + "/objects")
    windows_folder = windows.compile_folder(options.build + "/windows", options.soon is not None)
    for processor in chosen:
        place = f"{options.build}/{processor.name}"
        compile_all(processor, place, options)
        write_packages(processor, place, staged, windows_folder, options.soon is not None)
        sbom.write(processor, staged)
    write_checksums(staged)
    publish(staged, options.output)


def main():
    try:
        release(arguments())
    except (Failure, OSError) as failure:
        print(f"release: {failure}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
