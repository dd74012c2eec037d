#!/usr/bin/env python3
"""The tests of the crate loam-malloc for Windows, run by wine. Where Rust's standard library is not
installed for it, that is built first."""
# label: long
import os
import shutil
import unittest

from support import ROOT, VendoringTest, run

TARGET = "x86_64-pc-windows-gnu"
MINGW = "x86_64-w64-mingw32"
CARGO = {
    "CARGO_TARGET_X86_64_PC_WINDOWS_GNU_LINKER": MINGW + "-gcc-posix",
    "CARGO_TARGET_X86_64_PC_WINDOWS_GNU_RUNNER": os.path.join(ROOT, "tests", "windows", "wine.sh"),
    "CC_x86_64_pc_windows_gnu": MINGW + "-gcc-posix",
    "AR_x86_64_pc_windows_gnu": MINGW + "-ar",
    # Compiled soon.
    "CARGO_PROFILE_DEV_DEBUG": "0", "CARGO_INCREMENTAL": "0", "CFLAGS": "-O0",
}
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
        library = run(rustc, "--print", "target-libdir", "--target", TARGET)
        if library.returncode == 0 and os.path.isdir(library.stdout.strip()):
            return (), {"RUSTC": rustc}
        sources = run(rustc, "--print", "sysroot").stdout.strip() + "/lib/rustlib/src/rust/library"
        if os.path.exists(os.path.join(sources, "Cargo.lock")):
            # Without what names functions in traces.
            return (("-Zbuild-std", "-Zbuild-std-features=panic-unwind"),
                    {"RUSTC": rustc, "RUSTC_BOOTSTRAP": "1"})
    return None


class RustForWindows(VendoringTest):
    def test_with_override(self):
        found = rust_for_windows()
        if found is None:
            self.skipTest(f"no Rust standard library for {TARGET}, nor its sources")
        arguments, environment = found
        self.succeed(MINGW + "-gcc-posix", "-shared", self.write("random.c", RANDOM_NUMBERS),
                     "-ladvapi32", "-o", self.path("bcryptprimitives.dll"))
        tested = run("cargo", "test", "--locked", "--quiet", "-p", "loam-malloc", "--tests",
                     "--target", TARGET, "--features", "override", *arguments, folder=ROOT,
                     environment={**CARGO, **environment,
                                  "WINEPATH": "Z:" + self.folder.replace("/", "\\")})
        self.assertEqual(tested.returncode, 0, tested.stdout + tested.stderr)
        self.assertGreaterEqual(tested.stdout.count("test result: ok"), 3)


if __name__ == "__main__":
    unittest.main()
