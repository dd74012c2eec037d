#!/usr/bin/env python3
"""Someone has a system with musl, as Alpine, and programs that are linked with it: the same tarball
serves, and so does the command alone where nothing but /tmp can be written to."""
import os

from support import (HELLO, NO_ROOTS, Clean, expect, expect_on_loam, expect_statistics, released,
                     run, walk, write)


def main(release, folder):
    root = Clean(folder + "/root")
    if not root.is_possible():
        return NO_ROOTS
    write(folder + "/hello.c", HELLO)
    run("musl-gcc", "-fno-builtin", folder + "/hello.c", "-o", root.path("/bin/hello"))
    loader = f"/lib/ld-musl-{os.uname().machine}.so.1"
    root.put(loader)
    root.unpack(released(release, "loam-*-ARCH-linux.tar.gz"))

    expect_on_loam(root.run("/opt/loam/bin/loam", "verify", "--preloaded", "hello"), "/opt/loam/lib/libloam.so")
    said = root.run("/opt/loam/bin/loam", "run", "--stats", "--", "hello")
    expect(said.startswith("hello\n"), said)
    expect_statistics(said, "hello")

    said = root.run("/opt/loam/bin/loam", "bench", "--runs", "1", "--", "hello")
    expect("compared with musl" in said and "glibc" not in said, said)

    root.put(root.path("/opt/loam/bin/loam"), "/usr/bin/loam")
    run("rm", "-r", root.path("/opt/loam"))
    root.put_empty("/var") # in the place of the cache's folder
    expect_on_loam(root.run("loam", "verify", "--preloaded", "hello"), r"/tmp/loam-0/libloam-[-.\w]+\.so")
    run("rm", "-r", root.path("/tmp"))
    root.put_empty("/tmp")
    said = root.run("loam", "run", "--", "hello", status=125)
    expect(said == "loam: cannot write out the libloam.so that this command carries: cannot make "
           "/var/cache/loam: not a directory; cannot make /tmp/loam-0: not a directory; name one "
           "with --library PATH or LOAM_LIBRARY\n", said)
    return None


if __name__ == "__main__":
    walk(main)
