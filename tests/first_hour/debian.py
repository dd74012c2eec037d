#!/usr/bin/env python3
"""Someone installs the Debian package into a root with dpkg's records: lintian finds
nothing in it, the command works, and it finds the objects of all processors."""
import os

from support import (NO_ROOTS, Clean, expect, expect_on_loam, expect_statistics, released, run,
                     walk)


def install(root, package):
    for name in ("status", "available"):
        root.put_empty("/var/lib/dpkg/" + name)
    os.mkdir(root.path("/var/lib/dpkg/updates"))
    # Files are root's: who is not is so in a namespace of their own.
    as_root = () if os.geteuid() == 0 else ("unshare", "--user", "--map-root-user")
    run(*as_root, "dpkg", "--root=" + root.folder, "--force-script-chrootless", "--install", package)
    status = run("dpkg-query", "--admindir=" + root.path("/var/lib/dpkg"), "-W", "-f", "${Status}",
                 "loam")
    expect(status == "install ok installed", status)


def main(release, folder):
    package = released(release, "loam_*_amd64.deb")
    said = run("lintian", "--allow-root", "--fail-on", "error,warning", package)
    expect(said == "", said)
    root = Clean(folder + "/root")
    if not root.is_possible():
        return NO_ROOTS
    root.put_program("/usr/bin/expr")
    install(root, package)
    library = "/usr/lib/x86_64-linux-gnu/libloam.so"
    expect_on_loam(root.run("loam", "verify", "--preloaded", "expr"), library)
    expect_statistics(root.run("loam", "run", "--stats", "--", "expr", "1"), "expr")
    run("gzip", "--test", root.path("/usr/share/man/man1/loam-verify.1.gz"))
    root.run("loam", "graft", "--object", "--arch", "aarch64", "--output", "/root/loam.o")
    expect(os.path.getsize(root.path("/root/loam.o")) > 100_000, "no object for aarch64")
    return None


if __name__ == "__main__":
    walk(main)
