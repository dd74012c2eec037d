#!/usr/bin/env python3
"""loam in a Bazel workspace: its targets, and what they refuse. Without Bazel the status is 77."""
import re
import sys
import unittest

from support import API_PROGRAM, VendoringTest
from support.bazel import bazel, is_available, write_workspace

SKIPPED = 77


class Bazel(VendoringTest):
    def setUp(self):
        super().setUp()
        write_workspace(self)
        self.write("program.c", API_PROGRAM.replace("<loam.h>", "<loam/loam.h>"))

    def bazel(self, *arguments):
        return bazel(self, "build", "--symlink_prefix=" + self.path("bazel-"), *arguments)

    def refused(self, constraint, *arguments):
        result = self.bazel("--nobuild", *arguments, "//:override")
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertRegex(re.sub(r"\s+", " ", result.stderr),
                         rf"didn't satisfy constraints? \[?@loam//:{constraint}\b")

    def test_both_targets_and_what_they_refuse(self):
        result = self.bazel("//:api", "//:override")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertNotIn(": warning:", result.stderr)
        self.assertRegex(self.succeed(self.path("bazel-bin", "api")), "malloc other$")
        self.assertRegex(self.succeed(self.path("bazel-bin", "override")), "malloc loam$")
        self.refused("loam_was_never_run_on_this_platform", "--platforms=//:ppc",
                     "--extra_toolchains=//:ppc_toolchain")
        sanitizer = "the_{}_sanitizer_in_{}_needs_malloc_for_itself"
        self.refused(sanitizer.format("address", "copt"), "--copt=-fsanitize=address",
                     "--linkopt=-fsanitize=address")
        self.refused(sanitizer.format("thread", "linkopt"), "--linkopt=-fsanitize=thread")
        self.refused(sanitizer.format("memory", "features"), "--features=msan")


if __name__ == "__main__":
    if not is_available():
        print("not tested: apt-get install bazel-bootstrap bazel-rules-java")
        sys.exit(SKIPPED)
    unittest.main()
