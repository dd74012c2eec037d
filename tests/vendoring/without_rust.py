#!/usr/bin/env python3
"""`make` where there is no Rust, or too old a one: the library is built, one line says that the
command was left out; what needs the command ends with one line."""
import os
import re
import unittest

from support import ROOT, VendoringTest, run

with open(os.path.join(ROOT, "cli", "Cargo.toml"), encoding="utf-8") as manifest:
    NEEDED = re.search(r'^rust-version = "(.*)"', manifest.read(), re.M)[1]
SOURCE = r"get it from https://rustup\.rs \(Debian 12 has 1\.63\)"


class WithoutRust(VendoringTest):
    def setUp(self):
        super().setUp()
        os.mkdir(self.path("bin"))
        for folder in ("/bin", "/usr/bin", "/usr/sbin", "/usr/local/bin"):
            for name in os.listdir(folder):
                if name not in ("cargo", "rustc") and not os.path.lexists(self.path("bin", name)):
                    os.symlink(os.path.join(folder, name), self.path("bin", name))

    def make(self, *arguments):
        # Debug: compiled soon.
        return run("make", "BUILD=" + self.path("build"), "CONFIG=Debug", *arguments, folder=ROOT,
                   environment={"PATH": self.path("bin"), "MAKEFLAGS": "", "MAKELEVEL": "0"})

    def old_rust(self):
        for name in ("cargo", "rustc"):
            path = self.write(f"bin/{name}", f"#!/bin/sh\necho '{name} 1.63.0 (4b91a6ea7 2022)'\n")
            os.chmod(path, 0o755)

    def test_the_library_is_built_and_one_line_says_what_is_left_out(self):
        result = self.make()
        self.assertEqual((result.returncode, result.stderr), (0, ""), result.stdout)
        for name in ("libloam.so", "libloam.a", "loam.o"):
            self.assertTrue(os.path.exists(self.path("build", "lib", name)), name)
        self.assertFalse(os.path.exists(self.path("build", "bin", "loam")))
        last = result.stdout.splitlines()[-1]
        self.assertRegex(last, rf"^make: the loam command was left out: it takes Rust {NEEDED} or "
                               rf"later, and there is no cargo; {SOURCE}$")
        self.assertEqual(result.stdout.count("Rust"), 1)

    def test_too_old_a_rust_is_like_none(self):
        self.old_rust()
        result = self.make("-o", "lib")
        self.assertEqual((result.returncode, result.stderr), (0, ""), result.stdout)
        self.assertRegex(result.stdout, rf"(?m)^make: the loam command was left out: it takes Rust "
                                        rf"{NEEDED} or later, and rustc is 1\.63\.0; {SOURCE}$")

    def test_what_needs_the_command_ends_with_one_line(self):
        for target in ("cli", "run", "bench", "peers", "deb"):
            with self.subTest(target):
                result = self.make("-o", "lib", target, "CMD=true")
                self.assertEqual(result.returncode, 2, result.stdout)
                self.assertRegex(result.stderr, rf"^make: the loam command cannot be built: .*"
                                                rf"{SOURCE}\nmake: \*\*\* \[[^\n]*\n$")


if __name__ == "__main__":
    unittest.main()
