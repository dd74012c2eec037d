#!/usr/bin/env python3
"""The Debian package: unpacks into an empty root, and works there."""
import glob
import os
import re
import shutil
import unittest

from support import ROOT, VendoringTest, run


class Debian(VendoringTest):
    def test_make_deb(self):
        # A build of its own: other tests use the libraries of the usual one meanwhile. Debug, and the
        # command that there is: compiled and packed soon.
        build = self.path("build")
        os.makedirs(os.path.join(build, "bin"))
        shutil.copy(os.path.join(ROOT, "build", "bin", "loam"), os.path.join(build, "bin"))
        os.makedirs(os.path.join(build, "lib", "graft"))
        self.write("build/lib/graft/loam-x86_64.o", "")
        result = run("make", "--no-print-directory", "-o", "cli", "-o", "objects", "deb",
                     "BUILD=" + build, "CONFIG=Debug", folder=ROOT,
                     environment={"DPKG_DEB_COMPRESSOR_LEVEL": "1"})
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        packages = glob.glob(os.path.join(build, "packages", "*.deb"))
        self.assertEqual(len(packages), 1, packages)
        self.check_control(packages[0])
        self.check_installation(packages[0])

    def check_control(self, package):
        def field(name):
            return self.succeed("dpkg-deb", "--field", package, name).strip()
        self.assertRegex(field("Maintainer"), r"^[^<>]+ <[^<>@]+@[^<>@]+>$")
        self.assertNotIn("@example.", field("Maintainer"))
        command = self.succeed("readelf", "--dynamic", os.path.join(ROOT, "build", "bin", "loam"))
        if "libc.so.6" in command:
            self.assertRegex(field("Depends"), r"\blibc6 \(>= 2\.\d+\)")
        else:
            self.assertEqual(field("Depends"), "")

    def check_installation(self, package):
        root = self.path("root")
        os.makedirs(os.path.join(root, "var/lib/dpkg/updates"))
        for name in ("status", "available"):
            self.write(f"root/var/lib/dpkg/{name}", "")
        # The empty root has neither its dependencies, the C library's and GCC's packages, nor a
        # shell for the script that calls ldconfig. Files are root's: who is not is so in a namespace
        # of their own, and has a PATH like root's.
        as_root = () if os.geteuid() == 0 else ("unshare", "--user", "--map-root-user")
        result = run(*as_root, "dpkg", "--root=" + root, "--force-depends",
                     "--force-script-chrootless", "-i", package,
                     environment={"PATH": os.environ["PATH"] + ":/usr/sbin:/sbin"})
        self.assertEqual(result.returncode, 0, result.stderr)
        status = self.succeed("dpkg-query", "--admindir=" + root + "/var/lib/dpkg", "-W", "-f",
                              "${Status}", "loam")
        self.assertEqual(status, "install ok installed")
        output = self.succeed(root + "/usr/bin/loam", "verify", "--preloaded", "true")
        self.assertIn(f"loam: {root}/usr/lib/x86_64-linux-gnu/libloam.so", output)
        for name in ("include/loam/loam.h", "lib/x86_64-linux-gnu/loam.o",
                     "lib/x86_64-linux-gnu/pkgconfig/loam.pc", "lib/loam/graft/loam-x86_64.o",
                     "share/doc/loam/copyright", "share/man/man1/loam.1.gz",
                     "share/bash-completion/completions/loam"):
            self.assertTrue(os.path.exists(f"{root}/usr/{name}"), name)
        self.check_links(root)

    def check_links(self, root):
        """Every document that README links to is in the package."""
        folder = root + "/usr/share/doc/loam"
        with open(folder + "/README.md", encoding="utf-8") as file:
            links = re.findall(r"\]\(((?!https:)[^)#]+)", file.read())
        self.assertGreater(len(links), 10)
        is_missing = [link for link in links if not os.path.exists(os.path.join(folder, link))]
        self.assertEqual(is_missing, [])


if __name__ == "__main__":
    unittest.main()
