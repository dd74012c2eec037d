#!/usr/bin/env python3
"""Checks that the command compiles for musl, as releases have it: the verbs run and verify, and with
them all that follows processes. C libraries differ in the types of calls, and all other tests compile
for glibc. What only other verbs have, and linking, is seen by `first_hour.*.musl.long`: checking the
crates that they need takes three times as long.

    musl.py ROOT FOLDER

Cargo works in the folder, in which a second run finds what the first has made."""
import os
import platform
import sys

SKIPPED = 77


def written(path, content):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    if not os.path.exists(path): # cargo looks at when it was written
        with open(path, "wb") as file:
            file.write(content)
    return path


def carried(folder):
    """What a release puts into the command; here files that begin as such."""
    library, *_ = [written(f"{folder}/carried/{name}", b"\x7fELF")
                   for name in ("libloam.so", "recorder.so", "replayer")]
    return {"LOAM_EMBED_LIBRARY": library, "LOAM_EMBED_TOOLS": os.path.dirname(library)}


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    root, folder = map(os.path.abspath, sys.argv[1:])
    sys.path.insert(0, os.path.join(root, "scripts"))
    from dist import Failure
    from releasing.command import rust_for
    from releasing.process import output_of
    target = f"{platform.machine()}-unknown-linux-musl"
    try:
        rustc, arguments = rust_for(target)
    except Failure as failure:
        print(f"skipped: {failure}")
        return SKIPPED
    environment = {"RUSTC": rustc, "CARGO_PROFILE_DEV_DEBUG": "0", **carried(folder)}
    if arguments: # the standard library is built where it would do to check it, but not all the way
        environment["RUSTC_BOOTSTRAP"] = "1"
        environment["CARGO_ENCODED_RUSTFLAGS"] = "-Zno-codegen"
        arguments = [*arguments, "-Zbuild-std-features="]
    try:
        output_of("cargo", "check", "--locked", "--quiet", "--package", "loam", "--bin", "loam",
                  "--no-default-features", "--target", target, "--target-dir", f"{folder}/cargo",
                  *arguments, environment=environment, what="the command for musl")
    except Failure as failure:
        print(failure)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
