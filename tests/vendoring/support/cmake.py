"""CMake projects made for a test."""
import os
import re

from . import API_PROGRAM, ROOT, VendoringTest, run

PROGRAM = API_PROGRAM.replace("<loam.h>", "<loam/loam.h>")
HEAD = """cmake_minimum_required(VERSION 3.20)
project(consumer LANGUAGES C)
"""
# What is tested is how loam is built in, not how fast it is.
COMPILED_SOON = ("-DLOAM_OPTIMIZE=OFF", "-DCMAKE_BUILD_TYPE=Debug")
AS_SUBDIRECTORY = f"add_subdirectory({ROOT} loam)\n"


class CMakeTest(VendoringTest):
    cmake = "cmake"

    def project(self, text, head=HEAD, loam=AS_SUBDIRECTORY):
        """A project whose folder holds program.c."""
        self.write("program.c", PROGRAM)
        self.write("CMakeLists.txt", head + loam + text)

    def configure(self, *arguments):
        return run(self.cmake, "-S", self.folder, "-B", self.path("build"), "-G", "Ninja",
                   COMPILED_SOON[0], *arguments)

    def build(self, *arguments):
        result = self.configure(*arguments)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        return run(self.cmake, "--build", self.path("build"))

    def assert_built(self, *arguments):
        result = self.build(*arguments)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)

    def assert_refused(self, sentence, *arguments):
        """The configuration ends with this sentence, however CMake has broken its lines."""
        result = self.configure(*arguments)
        self.assertEqual(result.returncode, 1, result.stdout)
        self.assertIn(sentence, re.sub(r"\s+", " ", result.stderr))
        self.assertEqual(result.stderr.count("CMake Error"), 1, result.stderr)

    def output(self, program="program"):
        return self.succeed(os.path.join(self.path("build"), program))
