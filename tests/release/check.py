#!/usr/bin/env python3
"""What `make test-release` calls: makes the release for all processors twice, which takes long, and
tries what the walks of `make test` leave out.

    check.py WORK
"""
import os
import re
import shutil
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests", "first_hour"))
from support import HELLO, Wrong, expect, expect_on_loam, run as run_clean, write  # noqa: E402

ARM = "aarch64-linux-gnu"


def run(*command, **environment):
    """With the machine's environment: what is called compiles."""
    return run_clean(*command, environment={**os.environ, **environment})


def release(work, name):
    """Built in a folder of its own. What cargo has fetched is all that two of them share."""
    run(os.path.join(ROOT, "scripts/release.py"), f"{work}/{name}", "--build",
        f"{work}/build-{name}")
    with open(f"{work}/{name}/SHA256SUMS", encoding="utf-8") as file:
        return f"{work}/{name}", file.read().splitlines()


def same_twice(work):
    first, sums = release(work, "first")
    _, others = release(work, "second")
    differing = [line.split()[1] for line in sums if line not in others]
    expect(not differing and len(sums) == len(others),
           f"not the same when built twice: {' '.join(differing)}")
    return first


def unpack(released, name, work):
    run("tar", "-xf", f"{released}/{name}", "-C", work)


def crate_of_the_command(work, released, version):
    """In a folder `work` outside of the checkout: cargo takes what is below that for a part of it."""
    unpack(released, f"loam-{version}.crate", work)
    run("cargo", "install", "--quiet", "--locked", "--path", f"{work}/loam-{version}", "--root",
        work + "/cargo", "--target-dir", work + "/cargo-target")
    said = run(work + "/cargo/bin/loam", "verify", "--preloaded", "true", XDG_CACHE_HOME=work + "/cache")
    expect_on_loam(said, work + r"/cache/loam/libloam-[-.\w]+\.so")


def aarch64(work, released, version):
    unpack(released, f"loam-{version}-aarch64-linux.tar.gz", work)
    place = f"{work}/loam-{version}-aarch64-linux"
    write(work + "/hello.c", HELLO)
    emulated = ("qemu-aarch64", "-L", "/usr/" + ARM)
    run(*emulated, place + "/bin/loam", "graft", "--object", "--output", work + "/loam.o")
    run(ARM + "-gcc", "-static", work + "/loam.o", work + "/hello.c", "-o", work + "/static")
    said = run(*emulated, place + "/bin/loam", "verify", work + "/static")
    expect("every malloc function in it is loam's" in said, said)
    expect(run(*emulated, work + "/static") == "hello\n", "the static program says otherwise")
    run(ARM + "-gcc", work + "/hello.c", "-o", work + "/dynamic")
    said = run(*emulated, "-E", f"LD_PRELOAD={place}/lib/libloam.so", "-E",
               "LOAM_OPTIONS=stats=text", work + "/dynamic")
    expect("hello\n" in said and f"loam {version}: process" in said, said)


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    work = os.path.abspath(sys.argv[1])
    shutil.rmtree(work, ignore_errors=True)
    os.makedirs(work)
    try:
        released = same_twice(work)
        version = re.search(r"loam-([0-9.]+)\.crate", " ".join(os.listdir(released)))[1]
        with tempfile.TemporaryDirectory() as outside:
            crate_of_the_command(outside, released, version)
        aarch64(work, released, version)
    except Wrong as wrong:
        sys.exit(f"test-release: {wrong}")
    print(f"test-release: all is well; the release is in {released}")


if __name__ == "__main__":
    main()
