#!/usr/bin/env python3
"""The Debian package: unpacks into an empty root, works there, and has no errors for lintian."""
import glob
import os
import shutil
import unittest

from support import ROOT, VendoringTest, run


class Debian(VendoringTest):
    def test_make_deb(self):
        # A build of its own: other tests use the libraries of the usual one meanwhile. Debug, and the
        # command that there is: compiled soon.
        build = self.path("build")
        os.makedirs(os.path.join(build, "bin"))
        shutil.copy(os.path.join(ROOT, "build", "bin", "loam"), os.path.join(build, "bin"))
        result = run("make", "--no-print-directory", "-o", "cli", "deb", "BUILD=" + build,
                     "CONFIG=Debug", folder=ROOT)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        packages = glob.glob(os.path.join(build, "packages", "*.deb"))
        self.assertEqual(len(packages), 1, packages)
        self.check_installation(packages[0])
        self.check_lintian(packages[0])

    def check_installation(self, package):
        root = self.path("root")
        os.makedirs(os.path.join(root, "var/lib/dpkg/updates"))
        for name in ("status", "available"):
            self.write(f"root/var/lib/dpkg/{name}", "")
        # The empty root has neither its dependencies, the C library's and GCC's packages, nor a
        # shell for the script that calls ldconfig.
        result = run("dpkg", "--root=" + root, "--force-depends", "--force-script-chrootless",
                     "-i", package)
        self.assertEqual(result.returncode, 0, result.stderr)
        status = self.succeed("dpkg-query", "--admindir=" + root + "/var/lib/dpkg", "-W", "-f",
                              "${Status}", "loam")
        self.assertEqual(status, "install ok installed")
        output = self.succeed(root + "/usr/bin/loam", "verify", "true")
        self.assertIn(f"loam: {root}/usr/lib/libloam.so", output)
        for name in ("include/loam/loam.h", "lib/loam.o", "lib/pkgconfig/loam.pc",
                     "share/doc/loam/copyright", "share/man/man1/loam.1.gz"):
            self.assertTrue(os.path.exists(f"{root}/usr/{name}"), name)

    def check_lintian(self, package):
        result = run("lintian", "--allow-root", "--fail-on", "error", package)
        errors = [line for line in result.stdout.splitlines() if line.startswith("E:")]
        self.assertEqual((result.returncode, errors), (0, []), result.stderr)


if __name__ == "__main__":
    unittest.main()
