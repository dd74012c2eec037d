#!/usr/bin/env python3
"""The LLVM integration, as far as it can be tested without LLVM's sources.

integrations/llvm/check-patch.sh tests each patch on those; it needs 100 to 200 MB of them.
"""
import os
import unittest

from support import ROOT, VendoringTest, run

FOLDER = os.path.join(ROOT, "integrations", "llvm")


class Llvm(VendoringTest):
    def test_the_patches_are_whole_and_change_these_files(self):
        build_files = ["llvm/CMakeLists.txt", "llvm/lib/Support/CMakeLists.txt"]
        for version, files in {"14.0.6": build_files,
                               "19.1.7": sorted([*build_files, "llvm/docs/CMake.rst"]),
                               "22.1.8": sorted([*build_files, "llvm/docs/CMake.rst"]),
                               "main": sorted([*build_files, "llvm/docs/CMake.md"])}.items():
            with self.subTest(version):
                output = self.succeed("git", "apply", "--numstat",
                                      os.path.join(FOLDER, f"loam-llvm-{version}.patch"),
                                      folder=self.folder)
                self.assertEqual(sorted(line.split("\t")[2] for line in output.splitlines()), files)

    def test_those_with_a_boolean_add_the_same_checks_and_flags(self):
        added = []
        for version in ("19.1.7", "22.1.8", "main"):
            with open(os.path.join(FOLDER, f"loam-llvm-{version}.patch"), encoding="utf-8") as file:
                parts = file.read().split("\n--- ")[1:]
            added.append([[line for line in part.splitlines() if line.startswith("+")]
                          for part in parts if "/docs/" not in part.splitlines()[0]])
        self.assertEqual(len(added[0]), 2)
        for version in added[1:]:
            self.assertEqual(version, added[0])

    def test_the_check_says_how_it_is_called(self):
        script = os.path.join(FOLDER, "check-patch.sh")
        for arguments in ((), (self.folder,), ("15", self.folder)):
            with self.subTest(arguments):
                result = run(script, *arguments)
                self.assertEqual((result.returncode, result.stdout), (2, ""))
                self.assertEqual(result.stderr, f"usage: {script} 14|19|22 FOLDER\n")
        self.assertEqual(os.listdir(self.folder), [])

    def test_demo_names_what_is_missing(self):
        result = run(os.path.join(FOLDER, "demo_lld.py"), self.path("out"), "--data", self.folder)
        self.assertEqual((result.returncode, result.stdout), (2, ""))
        self.assertEqual(result.stderr, f"demo-lld: {self.folder}/peers: does not exist; "
                                        "run `make peers`\n")


if __name__ == "__main__":
    unittest.main()
