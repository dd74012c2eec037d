#!/usr/bin/env python3
"""Has clang check that locks are held where the sources say so (base/compiler.h: LM_GUARDED_BY,
LM_REQUIRES), in the fast and the checking build, and that it does find one that is not.

Usage: locking.py ROOT. Ends with 77 where clang is not installed.
"""
import os
import shutil
import subprocess
import sys
import tempfile

FLAGS = ["-fsyntax-only", "-std=gnu11", "-D_GNU_SOURCE", "-Wthread-safety",
         "-Werror=thread-safety"]
MISTAKE = """
#include "os/lock.h"
static struct lm_lock lock;
static int guarded LM_GUARDED_BY(lock);
LM_REQUIRES(lock) static void change(void) { guarded++; }
void forget(void) { change(); }
"""


def check(root, source, *flags):
    """What clang says; empty if all is well."""
    include = ["-I" + os.path.join(root, folder) for folder in ("src", "include")]
    result = subprocess.run(["clang", *FLAGS, *include, *flags, source], capture_output=True,
                            text=True, check=False)
    return result.stderr if result.returncode != 0 else ""


def main(root):
    if shutil.which("clang") is None:
        return 77
    with tempfile.NamedTemporaryFile("w", suffix=".c") as mistake:
        mistake.write(MISTAKE)
        mistake.flush()
        if "requires holding lock 'lock'" not in check(root, mistake.name):
            print("a call without the lock that it requires is not found")
            return 1
    failed = 0
    for flags in ([], ["-DLM_CHECKING=1"]):
        errors = check(root, os.path.join(root, "src", "loam.c"), *flags)
        print(errors, end="")
        failed |= errors != ""
    return int(failed)


sys.exit(main(sys.argv[1]))
