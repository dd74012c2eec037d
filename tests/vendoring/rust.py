#!/usr/bin/env python3
"""The crate loam-malloc: its own tests in both forms, on musl too, and what is packaged."""
import os
import shutil
import unittest

from support import ROOT, VendoringTest, run

MUSL = "x86_64-unknown-linux-musl"


class Rust(VendoringTest):
    def cargo(self, *arguments):
        result = run("cargo", *arguments, folder=ROOT)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        return result.stdout

    def test_with_and_without_override(self):
        for features in ((), ("--features", "override")):
            with self.subTest(features):
                output = self.cargo("test", "--locked", "--quiet", "-p", "loam-malloc", *features)
                self.assertGreaterEqual(output.count("test result: ok"), 3)

    def test_musl(self):
        target_folder = run("rustc", "--print", "target-libdir", "--target", MUSL).stdout.strip()
        if not os.path.isdir(target_folder) or shutil.which("musl-gcc") is None:
            self.skipTest(f"no Rust target {MUSL}, or no musl-gcc")
        self.cargo("test", "--locked", "--quiet", "-p", "loam-malloc", "--target", MUSL,
                   "--tests", "--features", "override")

    def test_the_packaged_crate_carries_the_c_file_and_builds(self):
        self.succeed(os.path.join(ROOT, "scripts", "dist.py"), self.path("dist"))
        crate = self.path("crate")
        shutil.copytree(os.path.join(ROOT, "bindings", "rust"), crate,
                        ignore=shutil.ignore_patterns("vendor"))
        os.mkdir(os.path.join(crate, "vendor"))
        for name in ("loam.c", "loam.h"):
            shutil.copy(self.path("dist", name), os.path.join(crate, "vendor", name))
        with open(os.path.join(crate, "Cargo.toml"), "a", encoding="utf-8") as manifest:
            manifest.write("\n[workspace]\n")
        shutil.copy(os.path.join(ROOT, "Cargo.lock"), crate)
        result = run("cargo", "package", "--list", "--allow-dirty", folder=crate)
        self.assertEqual(result.returncode, 0, result.stderr)
        for name in ("vendor/loam.c", "vendor/loam.h", "build.rs", "src/lib.rs"):
            self.assertIn(name, result.stdout.splitlines())
        result = run("cargo", "package", "--allow-dirty", "--quiet", folder=crate)
        self.assertEqual(result.returncode, 0, result.stderr)


if __name__ == "__main__":
    unittest.main()
