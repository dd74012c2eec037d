#!/usr/bin/env python3
"""The shared libraries under musl's dynamic loader and in processes of both C libraries.

    loader.py WORK LIBLOAM.SO LIBLOAM-CHECKING.SO LIBLOAM-DLOPEN.SO
"""
import os
import sys
from functools import partial

from run import ARGUMENTS, link, output, run_checks

PRELOADED = ["static/libc_callers.c", "static/before_and_after_main.c", "fork/under_threads.c",
             "api/size_sweep.c", "api/remote_free.c"]


def preload(program, library, command=(), arguments=()):
    output([*command, program, *arguments], {"LD_PRELOAD": library, "LOAM_TEST_BUILD": "fast"})


def checks(work, fast, checking, dlopen):
    programs = {}
    for compiler in ("gcc", "musl-gcc"):
        for source in PRELOADED:
            name = os.path.join(work, f"{compiler}-{os.path.basename(source)[:-2]}")
            programs[compiler, source] = link([compiler], source, [], [], name)
        opener = link([compiler], "api/dlopen_library.c", [], [],
                      os.path.join(work, compiler + "-opener"))
        yield f"{compiler} opens libloam-dlopen.so", partial(output, [opener, dlopen])
    for source in PRELOADED:
        yield f"musl: {source}", partial(preload, programs["musl-gcc", source], fast,
                                          arguments=ARGUMENTS.get(source, []))
    for source in PRELOADED[:3]:
        yield f"musl, checking: {source}", partial(preload, programs["musl-gcc", source], checking,
                                                    arguments=ARGUMENTS.get(source, []))
    # The preload is inherited: a glibc process starts a musl one, and the other way round.
    yield "glibc starts musl", partial(preload, programs["musl-gcc", PRELOADED[0]], fast,
                                       ["/usr/bin/env"])
    yield "musl starts glibc", partial(preload, programs["gcc", PRELOADED[0]], fast,
                                       [starter(work)])


def starter(work):
    """A musl program that runs its arguments."""
    source, program = os.path.join(work, "starter.c"), os.path.join(work, "starter")
    with open(source, "w", encoding="utf-8") as file:
        file.write("#include <unistd.h>\n"
                   "int main(int n, char **a) { execv(a[1], a + 1); return n ? 99 : 98; }\n")
    output(["musl-gcc", source, "-o", program])
    return program


def main():
    if len(sys.argv) != 5:
        sys.exit(__doc__)
    return run_checks(checks(*sys.argv[1:]), sys.argv[1])


if __name__ == "__main__":
    sys.exit(main())
