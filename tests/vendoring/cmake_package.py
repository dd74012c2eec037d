#!/usr/bin/env python3
"""The CMake targets and loam_override(), installed and as part of another project."""
import glob
import os
import re
import shutil
import unittest

from support import ROOT, run
from support.cmake import AS_SUBDIRECTORY, COMPILED_SOON, CMakeTest

LOAM_COMMAND = os.path.join(ROOT, "build", "bin", "loam")
FETCHED = """include(FetchContent)
if(POLICY CMP0135) # times of the files in the tarball
  cmake_policy(SET CMP0135 NEW)
endif()
FetchContent_Declare(loam URL file://{tarball})
FetchContent_MakeAvailable(loam)
"""
ALL_TARGETS = """
add_executable(api program.c)
target_link_libraries(api PRIVATE loam::loam)
add_executable(shared program.c)
target_link_libraries(shared PRIVATE loam::shared)
add_executable(override program.c)
target_link_libraries(override m) # without a keyword, as many projects have it
loam_override(override)
add_executable(static program.c)
target_link_options(static PRIVATE -static)
loam_override(static)
add_executable(both program.c) # the archive and the object define the same functions
target_link_libraries(both PRIVATE loam::loam)
loam_override(both)
"""


class CMakePackage(CMakeTest):
    def check_all_targets(self, loam, *arguments):
        self.project(ALL_TARGETS, loam=loam)
        self.assert_built(*arguments)
        self.assertRegex(self.output("api"), "malloc other$")
        self.assertRegex(self.output("shared"), "malloc loam$")
        self.assertRegex(self.output("override"), "malloc loam$")
        self.assertRegex(self.output("static"), "malloc loam$")
        self.assertRegex(self.output("both"), "malloc loam$")

    def test_as_subdirectory(self):
        self.check_all_targets(AS_SUBDIRECTORY)

    def test_with_unused_sections_dropped(self):
        self.check_all_targets(AS_SUBDIRECTORY, "-DCMAKE_C_FLAGS=-ffunction-sections",
                               "-DCMAKE_EXE_LINKER_FLAGS=-Wl,--gc-sections")

    def test_fetched(self):
        dist = self.path("dist")
        self.succeed(os.path.join(ROOT, "scripts", "dist.py"), dist)
        tarball = glob.glob(os.path.join(dist, "loam-*.tar.gz"))[0]
        self.check_all_targets(FETCHED.format(tarball=tarball))
        # The sources that are fetched have no command with them.
        how = "verified" if shutil.which("loam") else "its symbols are verified"
        self.assertIn(f"loam_override(override): {how} after each link\n", self.configure().stdout)

    def test_installed(self):
        build, prefix = self.path("loam", "cmake"), self.path("prefix")
        self.succeed(self.cmake, "-S", ROOT, "-B", build, "-G", "Ninja", *COMPILED_SOON)
        self.succeed(self.cmake, "--build", build)
        self.succeed(self.cmake, "--install", build, "--prefix", prefix)
        self.check_all_targets("find_package(loam 0.1 REQUIRED)\n",
                               "-DCMAKE_PREFIX_PATH=" + prefix)
        self.check_pkg_config(os.path.join(prefix, "lib", "pkgconfig"))

    def check_pkg_config(self, folder):
        for package, owner in {"loam": "other", "loam-override": "loam"}.items():
            flags = self.succeed("pkg-config", "--cflags", "--libs", package,
                                 environment={"PKG_CONFIG_PATH": folder})
            program = self.path(package + ".out")
            self.succeed("gcc", self.path("program.c"), "-o", program, *flags.split())
            self.assertRegex(self.succeed(program), f"malloc {owner}$")

    def test_link_that_leaves_loam_out_fails(self):
        # `loam verify` is run after each link; this program has nothing of loam's.
        program = self.path("plain")
        self.write("program.c", "int main(void) { return 0; }\n")
        self.succeed("gcc", self.path("program.c"), "-o", program)
        result = run(self.cmake, "-DLOAM_COMMAND=" + LOAM_COMMAND, "-DPROGRAM=" + program, "-P",
                     os.path.join(ROOT, "cmake", "loam-verify.cmake"))
        self.assertEqual(result.returncode, 1)
        self.assertIn("plain: the link has left loam out.", result.stderr)

    def verify_symbols(self, source, *flags):
        program = self.path("plain")
        self.succeed("g++", self.write("plain.cpp", source), "-o", program, *flags)
        result = run(self.cmake, "-DNM=nm", "-DPROGRAM=" + program, "-P",
                     os.path.join(ROOT, "cmake", "loam-verify-symbols.cmake"))
        return result.returncode, re.sub(r"\s+", " ", result.stderr)

    def test_without_the_command_symbols_tell(self):
        loam = os.path.join(ROOT, "build", "lib", "loam.o")
        calls = ("#include <cstdlib>\n#include <string>\n"
                 "int main(int n, char **) { free(malloc(n)); delete new std::string; }\n")
        without_malloc = self.path("other.o")
        self.succeed("objcopy", "--strip-symbol=malloc", "--strip-symbol=__libc_malloc",
                     "--strip-symbol=__libc_malloc_impl", loam, without_malloc)
        without_new = self.path("no_new.o")
        self.succeed("objcopy", "--redefine-sym=_Znwm=not_new", loam, without_new)
        for flags in ((loam,), (loam, "-static"), (loam, "-Wl,--gc-sections"),
                      (loam, "-fno-pie", "-no-pie")):
            with self.subTest(flags):
                self.assertEqual(self.verify_symbols(calls, *flags), (0, ""))
        for flags, sentence in {
                (): "the link has left loam out.", ("-static",): "the link has left loam out.",
                (without_malloc,): "its malloc is not loam's.",
                (without_new,): "its _Znwm is not loam's."}.items():
            with self.subTest(flags):
                status, error = self.verify_symbols(calls, *flags)
                self.assertEqual(status, 1)
                self.assertIn(f"plain: {sentence} The loam command says more", error)
        status, error = self.verify_symbols(calls, loam, "-s")
        self.assertEqual(status, 0)
        self.assertIn("plain: loam could not be verified: ", error)

    def test_says_whether_it_verifies(self):
        self.project("add_executable(program program.c)\nloam_override(program)\n")
        result = self.configure("-DLOAM_COMMAND=" + LOAM_COMMAND)
        self.assertIn("loam_override(program): verified after each link\n", result.stdout)
        self.project("add_executable(program program.c)\nloam_override(program QUIET)\n")
        self.assertNotIn("loam_override", self.configure().stdout)


if __name__ == "__main__":
    unittest.main()
