#!/usr/bin/env python3
"""loam in a Bazel workspace: its targets, and what they refuse. Without Bazel the status is 77."""
import os
import re
import shutil
import sys
import unittest

from support import API_PROGRAM, ROOT, VendoringTest, run

SKIPPED = 77
# Debian's rules_cc is too new for its Bazel: Bazel's own rules, under that name.
RULES_CC = "".join(f"{rule} = native.{rule}\n" for rule in (
    "cc_binary", "cc_import", "cc_library", "cc_test", "cc_toolchain", "cc_toolchain_suite"))
# Any build asks for it.
RULES_JAVA = "/usr/share/bazel/rules/java"
WORKSPACE = f"""local_repository(name = "rules_cc", path = "rules_cc")
local_repository(name = "rules_java", path = "{RULES_JAVA}")
new_local_repository(
    name = "loam", path = "{ROOT}", build_file = "{ROOT}/BUILD.bazel"
)
"""
BUILD = """cc_binary(name = "api", srcs = ["program.c"], deps = ["@loam//:loam"])
cc_library(name = "library", srcs = ["program.c"], deps = ["@loam//:headers"])
cc_binary(name = "override", deps = [":library"], malloc = "@loam//:malloc")
PPC = ["@platforms//os:linux", "@platforms//cpu:ppc"]
platform(name = "ppc", constraint_values = PPC)
toolchain( # Bazel asks for one first; it compiles nothing
    name = "ppc_toolchain",
    target_compatible_with = PPC,
    toolchain = "@local_config_cc//:cc-compiler-k8",
    toolchain_type = "@bazel_tools//tools/cpp:toolchain_type",
)
"""


class Bazel(VendoringTest):
    def setUp(self):
        super().setUp()
        self.write("rules_cc/WORKSPACE", "")
        self.write("rules_cc/cc/BUILD", "")
        self.write("rules_cc/cc/defs.bzl", RULES_CC)
        self.write("WORKSPACE", WORKSPACE)
        self.write("BUILD", BUILD)
        self.write("program.c", API_PROGRAM.replace("<loam.h>", "<loam/loam.h>"))

    def bazel(self, *arguments):
        # --batch: no server stays behind.
        return run("bazel", "--batch", "--output_user_root=" + self.path("out"), "build",
                   "--symlink_prefix=" + self.path("bazel-"), *arguments, folder=self.folder)

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
    if shutil.which("bazel") is None or not os.path.isdir(RULES_JAVA):
        print("not tested: apt-get install bazel-bootstrap bazel-rules-java")
        sys.exit(SKIPPED)
    unittest.main()
