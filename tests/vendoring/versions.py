#!/usr/bin/env python3
"""The version stands in loam.h; every build system's own file says the same."""
import os
import re
import unittest

from support import ROOT

LINES = {
    "bindings/rust/Cargo.toml": r'^version = "([^"]+)"',
    "cli/Cargo.toml": r'^version = "([^"]+)"',
    "integrations/vcpkg/loam/vcpkg.json": r'^  "version": "([^"]+)"',
    "meson.build": r"^project\('loam', 'c', version: '([^']+)'",
    "MODULE.bazel": r'^module\(name = "loam", version = "([^"]+)"',
}


def version_in(path, pattern):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        match = re.search(pattern, file.read(), re.M)
    return None if match is None else match[1]


class Versions(unittest.TestCase):
    def test_all_are_the_headers(self):
        version = version_in("include/loam/loam.h", r'^#define LOAM_VERSION "([^"]+)"')
        self.assertRegex(version, r"^\d+\.\d+\.\d+$")
        for path, pattern in LINES.items():
            with self.subTest(path):
                self.assertEqual(version_in(path, pattern), version)


if __name__ == "__main__":
    unittest.main()
