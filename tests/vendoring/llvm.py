#!/usr/bin/env python3
"""The LLVM integration, as far as it can be tested without LLVM's sources.

integrations/llvm/check-patch.sh tests the patch on those; it needs 130 MB of them.
"""
import os
import unittest

from support import ROOT, VendoringTest, run

FOLDER = os.path.join(ROOT, "integrations", "llvm")


class Llvm(VendoringTest):
    def test_the_patch_is_whole_and_changes_two_files(self):
        output = self.succeed("git", "apply", "--numstat",
                              os.path.join(FOLDER, "loam-llvm-14.0.6.patch"), folder=self.folder)
        self.assertEqual([line.split("\t")[2] for line in output.splitlines()],
                         ["llvm/CMakeLists.txt", "llvm/lib/Support/CMakeLists.txt"])

    def test_demo_names_what_is_missing(self):
        result = run(os.path.join(FOLDER, "demo_lld.py"), self.path("out"), "--data", self.folder)
        self.assertEqual((result.returncode, result.stdout), (2, ""))
        self.assertEqual(result.stderr, f"demo-lld: {self.folder}/peers: does not exist; "
                                        "run `make peers`\n")


if __name__ == "__main__":
    unittest.main()
