#!/usr/bin/env python3
"""Programs with a sanitizer's runtime and loam: one line says that this does not go, or, where loam
does not serve malloc, all goes on.

    sanitizers.py WORK LIBLOAM.SO LOAM.O
"""
import os
import signal
import subprocess
import sys
from functools import partial

from run import output, run_checks

# name: (what the compiler calls it, what links its runtime into the program)
REPLACING = {"AddressSanitizer": ("address", "-static-libasan"),
             "ThreadSanitizer": ("thread", "-static-libtsan")}
OTHERS = ["leak", "undefined"]
PROGRAM = """
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static void *work(void *block) { free(block); return malloc(100); }
int main(void) {
  pthread_t thread;
  char *block = malloc(100);
  strcpy(block, "works");
  puts(block);
  pthread_create(&thread, NULL, work, block);
  pthread_join(thread, (void **)&block);
  free(realloc(block, 1000));
  return 0;
}
"""


def compiled(work, name, *flags):
    source, program = os.path.join(work, "program.c"), os.path.join(work, name)
    with open(source, "w", encoding="utf-8") as file:
        file.write(PROGRAM)
    output(["gcc", "-w", *flags, source, "-pthread", "-o", program])
    return program


def is_refused(name, program, preload):
    result = subprocess.run([program], capture_output=True, text=True, timeout=200,
                            env={**os.environ, "LD_PRELOAD": preload})
    line = (f"loam: the runtime of {name} is in this process and needs malloc for itself: "
            "use it without loam\n")
    if result.returncode != -signal.SIGABRT or result.stderr != line:
        raise RuntimeError(f"{program}: status {result.returncode}, {result.stderr}")


def works(program, preload):
    if output([program], {"LD_PRELOAD": preload}) != "works\n":
        raise RuntimeError(f"{program} does not work")


def checks(work, library, loam_object):
    for name, (flag, static) in REPLACING.items():
        flags = ["-fsanitize=" + flag]
        yield f"{name}, linked", partial(
            is_refused, name, compiled(work, flag + "-linked", *flags, loam_object), "")
        own = compiled(work, flag + "-own", *flags, static)
        yield f"{name} in the program, loam preloaded", partial(works, own, library)
    # AddressSanitizer's library says by itself that it does not come first.
    thread = compiled(work, "thread-preloaded", "-fsanitize=thread")
    yield "ThreadSanitizer, loam preloaded", partial(is_refused, "ThreadSanitizer", thread, library)
    for flag in OTHERS:
        program = compiled(work, flag, "-fsanitize=" + flag)
        yield f"{flag}, loam preloaded", partial(works, program, library)


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    os.makedirs(sys.argv[1], exist_ok=True)
    return run_checks(checks(*sys.argv[1:]), sys.argv[1])


if __name__ == "__main__":
    sys.exit(main())
