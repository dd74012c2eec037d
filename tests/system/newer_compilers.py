#!/usr/bin/env python3
"""The compilers of Debian's suites: newer_compilers.py FOLDER SUITE COMPILER...

In a root of the suite, made anew in FOLDER, tests/vendoring/optimised_together.py runs with the
compilers, which are packages of it. Skipped without debootstrap, without the right to mount, and
where Debian's packages cannot be had.
"""
import os
import shutil
import sys

from roots import inside, new_root

CHECKOUT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def main():
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    folder, suite, *compilers = sys.argv[1:]
    root = os.path.join(os.path.abspath(folder), suite)
    try:
        new_root(root, suite, ["libc6-dev", "python3", *compilers])
        for part in ("src", "include", "tests/vendoring"):
            shutil.copytree(os.path.join(CHECKOUT, part), root + "/loam/" + part)
        present = inside(root, " && ".join(compiler + " --version" for compiler in compilers))
        result = inside(root, "cd /loam/tests/vendoring && python3 optimised_together.py "
                              "Together.test_fibers")
        print(present.stdout + present.stderr + result.stdout + result.stderr)
        return present.returncode or result.returncode
    finally:
        shutil.rmtree(root, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
