#!/usr/bin/env python3
"""Someone installs the tarball on a system with glibc, and does not build: everything is there, and
the command proves that a program runs on loam. Then only the command is copied on."""
from support import (NO_ROOTS, Clean, expect, expect_on_loam, expect_statistics, released, run,
                     walk)

INSTALLED = ("bin/loam", "lib/libloam.so", "lib/libloam-checking.so", "lib/loam.o",
             "lib/loam/i386/libloam.so", "lib/loam/i386/libloam-checking.so",
             "lib/pkgconfig/loam.pc", "lib/cmake/loam/loam-config.cmake", "include/loam/loam.h",
             "share/man/man1/loam-run.1", "share/bash-completion/completions/loam",
             "share/doc/loam/LICENSE-MIT", "share/doc/loam/LICENSE-APACHE",
             "share/doc/loam/docs/command.md") + tuple(
                 f"lib/loam/graft/loam-{arch}.o"
                 for arch in ("x86_64", "aarch64", "riscv64", "armhf", "i386")) + tuple(
                     "windows/" + name
                     for name in ("README.txt", "loam-redirect.dll", "loam-run.exe", "loam-redirect.lib",
                                  "loam-redirect.cmake", "loam-msvc-x64.obj", "loam-msvc-arm64.obj",
                                  "try-windows.cmd"))


def main(release, folder):
    run("sha256sum", "--check", "--strict", "--quiet", "SHA256SUMS", folder=release)
    root = Clean(folder + "/root")
    if not root.is_possible():
        return NO_ROOTS
    root.put_program("/usr/bin/expr")
    root.unpack(released(release, "loam-*-ARCH-linux.tar.gz"))
    listed = run("find", ".", "-type", "f", folder=root.path("/opt/loam")).split()
    expect(not {"./" + name for name in INSTALLED} - set(listed), f"missing in {listed}")

    expect_on_loam(root.run("/opt/loam/bin/loam", "verify", "--preloaded", "expr"), "/opt/loam/lib/libloam.so")
    said = root.run("/opt/loam/bin/loam", "run", "--stats", "--", "expr", "6", "+", "7")
    expect(said.startswith("13\n"), said)
    expect_statistics(said, "expr")

    root.put(root.path("/opt/loam/bin/loam"), "/usr/bin/loam")
    run("rm", "-r", root.path("/opt/loam"))
    expect_on_loam(root.run("loam", "verify", "--preloaded", "expr"), r"/var/cache/loam/libloam-[-.\w]+\.so")
    expect_statistics(root.run("loam", "run", "--stats", "--", "expr", "1"), "expr")
    return None


if __name__ == "__main__":
    walk(main)
