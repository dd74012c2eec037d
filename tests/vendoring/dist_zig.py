#!/usr/bin/env python3
"""dist/loam.c, compiled by Zig for other targets without warnings."""
# label: long
import unittest

from dist import C_FLAGS, DIST, ZIG, ZIG_SOON
from support import VendoringTest

# Zig brings the headers of their C libraries along.
TARGETS = ("x86_64-linux-musl", "aarch64-linux-gnu", "aarch64-linux-musl", "riscv64-linux-musl",
           "arm-linux-musleabihf", "x86-linux-musl", "x86_64-windows-gnu")


class DistByZig(VendoringTest):
    def test_for_other_targets_without_warnings(self):
        self.succeed(DIST, self.folder)
        for target in TARGETS:
            with self.subTest(target):
                self.succeed(*ZIG, "-target", target, *ZIG_SOON, *C_FLAGS, "-c",
                             self.path("loam.c"), "-o", self.path("loam.o"))


if __name__ == "__main__":
    unittest.main()
