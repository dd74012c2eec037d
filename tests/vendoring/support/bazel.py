"""A Bazel workspace made for a test, that has loam as @loam."""
import os
import shutil

from . import ROOT, run

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


def is_available():
    return shutil.which("bazel") is not None and os.path.isdir(RULES_JAVA)


def write_workspace(test):
    test.write("rules_cc/WORKSPACE", "")
    test.write("rules_cc/cc/BUILD", "")
    test.write("rules_cc/cc/defs.bzl", RULES_CC)
    test.write("WORKSPACE", WORKSPACE)
    test.write("BUILD", BUILD)


def bazel(test, command, *arguments):
    # --batch: no server stays behind.
    return run("bazel", "--batch", "--output_user_root=" + test.path("out"), command,
               *arguments, folder=test.folder)
