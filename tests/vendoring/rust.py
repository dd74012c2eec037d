#!/usr/bin/env python3
"""The crate loam-malloc: its own tests in both forms, also for musl and Windows; what it refuses;
and what is packaged."""
import os
import re
import shutil
import unittest

from support import ROOT, VendoringTest, run

GNU = "x86_64-unknown-linux-gnu"
MUSL = "x86_64-unknown-linux-musl"
WINDOWS = "x86_64-pc-windows-gnu"
MINGW = "x86_64-w64-mingw32"
CARGO_FOR_WINDOWS = {
    "CARGO_TARGET_X86_64_PC_WINDOWS_GNU_LINKER": MINGW + "-gcc-posix",
    "CARGO_TARGET_X86_64_PC_WINDOWS_GNU_RUNNER": os.path.join(ROOT, "tests", "windows", "wine.sh"),
    "CC_x86_64_pc_windows_gnu": MINGW + "-gcc-posix",
    "AR_x86_64_pc_windows_gnu": MINGW + "-ar",
}
# Compiled soon.
SOON = {"CARGO_PROFILE_DEV_DEBUG": "0", "CARGO_INCREMENTAL": "0"}
ALLOCATOR_SOON = {"CFLAGS": "-O0"}
# What Rust's standard library takes from a DLL that Debian 12's wine lacks.
RANDOM_NUMBERS = """#include <windows.h>
#include <ntsecapi.h>
__declspec(dllexport) BOOL ProcessPrng(PBYTE numbers, SIZE_T size) {
  return RtlGenRandom(numbers, (ULONG)size);
}
"""


def rust_for_windows():
    """Cargo's arguments and environment: an installed standard library, or one that is built from
    the compiler's own sources (Debian: rustc-web, rust-web-src). None if there is neither."""
    for rustc in filter(shutil.which, ("rustc", "/usr/bin/rustc")):
        library = run(rustc, "--print", "target-libdir", "--target", WINDOWS)
        if library.returncode == 0 and os.path.isdir(library.stdout.strip()):
            return (), {"RUSTC": rustc}
        sources = run(rustc, "--print", "sysroot").stdout.strip() + "/lib/rustlib/src/rust/library"
        if os.path.exists(os.path.join(sources, "Cargo.lock")):
            # Without what names functions in traces.
            return (("-Zbuild-std", "-Zbuild-std-features=panic-unwind"),
                    {"RUSTC": rustc, "RUSTC_BOOTSTRAP": "1"})
    return None


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

    def test_windows(self):
        found = rust_for_windows()
        if found is None:
            self.skipTest(f"no Rust standard library for {WINDOWS}, nor its sources")
        arguments, environment = found
        self.succeed(MINGW + "-gcc-posix", "-shared", self.write("random.c", RANDOM_NUMBERS),
                     "-ladvapi32", "-o", self.path("bcryptprimitives.dll"))
        output = self.cargo("test", "--locked", "--quiet", "-p", "loam-malloc", "--tests",
                            "--target", WINDOWS, "--features", "override", *arguments,
                            environment={**CARGO_FOR_WINDOWS, **environment, **ALLOCATOR_SOON,
                                         "WINEPATH": "Z:" + self.folder.replace("/", "\\")})
        self.assertGreaterEqual(output.count("test result: ok"), 3)

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
