#!/usr/bin/env python3
"""The crate loam-malloc: its own tests in both forms, also for musl; what it refuses; and
what is packaged."""
import os
import re
import shutil
import unittest

from support import ROOT, VendoringTest, run

GNU = "x86_64-unknown-linux-gnu"
MUSL = "x86_64-unknown-linux-musl"
# Compiled soon.
SOON = {"CARGO_PROFILE_DEV_DEBUG": "0", "CARGO_INCREMENTAL": "0"}
ALLOCATOR_SOON = {"CFLAGS": "-O0"}


class Rust(VendoringTest):
    def cargo(self, *arguments, environment=None):
        result = run("cargo", *arguments, folder=ROOT, environment={**SOON, **(environment or {})})
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        return result.stdout

    def test_with_and_without_override(self):
        for features in ((), ("--features", "override")):
            with self.subTest(features):
                output = self.cargo("test", "--locked", "--quiet", "-p", "loam-malloc", *features,
                                    environment=ALLOCATOR_SOON)
                self.assertGreaterEqual(output.count("test result: ok"), 3)

    def test_musl(self):
        target_folder = run("rustc", "--print", "target-libdir", "--target", MUSL).stdout.strip()
        if not os.path.isdir(target_folder) or shutil.which("musl-gcc") is None:
            self.skipTest(f"no Rust target {MUSL}, or no musl-gcc")
        self.cargo("test", "--locked", "--quiet", "-p", "loam-malloc", "--target", MUSL,
                   "--tests", "--features", "override", environment=ALLOCATOR_SOON)

    def refused(self, sentence, *arguments, **environment):
        result = run("cargo", "check", "--locked", "--quiet", "-p", "loam-malloc", *arguments,
                     folder=ROOT, environment={**SOON, **environment})
        self.assertEqual(result.returncode, 101, result.stderr)
        self.assertRegex(result.stderr, rf"(?m)^error: loam-malloc@[0-9.]+: {re.escape(sentence)}$")

    def test_platforms_where_loam_was_never_run_are_refused(self):
        way_out = "Leave loam-malloc out there; or set LOAM_ALLOW_OTHER_PLATFORMS=1 to try."
        for target, platform in {
                "x86_64-pc-windows-msvc": "windows on x86_64 and Microsoft's C runtime",
                "aarch64-pc-windows-gnullvm": "windows on aarch64",
                "x86_64-unknown-freebsd": "freebsd on x86_64",
                "aarch64-linux-android": "android on aarch64"}.items():
            with self.subTest(target):
                self.refused(f"loam was never run on {platform}. {way_out}", "--target", target)

    def test_sanitizers_are_refused_with_override_only(self):
        override = ("--features", "override", "--target", GNU)
        for flag, sanitizer, environment in (
                ("-Zsanitizer=thread", "thread", {"RUSTFLAGS": "-Zsanitizer=thread"}),
                ("sanitizer=address", "address", {"RUSTFLAGS": "-Z sanitizer=address"}),
                ("-fsanitize=undefined,leak", "leak", {"CFLAGS": "-fsanitize=undefined,leak"})):
            with self.subTest(flag):
                self.refused(f"it is built with {flag}, and the {sanitizer} sanitizer needs malloc "
                             "for itself. Leave out the feature override in builds with it.",
                             *override, RUSTC_BOOTSTRAP="1", **environment)
        self.cargo("check", "--locked", "--quiet", "-p", "loam-malloc", "--target", GNU,
                   environment={"CFLAGS": "-fsanitize=address -O0"})

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
        result = run("cargo", "package", "--allow-dirty", "--quiet", folder=crate,
                     environment={**SOON, **ALLOCATOR_SOON})
        self.assertEqual(result.returncode, 0, result.stderr)


if __name__ == "__main__":
    unittest.main()
