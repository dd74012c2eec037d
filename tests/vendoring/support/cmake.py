"""CMake projects made for a test."""
import functools
import os
import re
import shutil
import tempfile

from . import API_PROGRAM, ROOT, VendoringTest, run

PROGRAM = API_PROGRAM.replace("<loam.h>", "<loam/loam.h>")
HEAD = """cmake_minimum_required(VERSION 3.20)
project(consumer LANGUAGES C)
"""
# What is tested is how loam is built in, not how fast it is.
COMPILED_SOON = ("-DLOAM_OPTIMIZE=OFF", "-DCMAKE_BUILD_TYPE=Debug")
AS_SUBDIRECTORY = f'add_subdirectory("{ROOT}" loam)\n'
# Arguments that choose or concern the compiler.
OF_COMPILER = ("-DCMAKE_TOOLCHAIN_FILE", "-DCMAKE_SYSTEM", "-DCMAKE_C_COMPILER",
               "-DCMAKE_CXX_COMPILER", "-DCMAKE_TRY_COMPILE")


@functools.cache
def configured(cmake, project, *arguments):
    """A folder with a project, where CMake has found out about the compiler."""
    folder = tempfile.TemporaryDirectory(prefix="loam-vendoring-")
    with open(os.path.join(folder.name, "CMakeLists.txt"), "w", encoding="utf-8") as file:
        file.write(project)
    result = run(cmake, "-S", folder.name, "-B", os.path.join(folder.name, "build"), "-G", "Ninja",
                 *arguments)
    if result.returncode != 0:
        raise AssertionError(result.stdout + result.stderr)
    return folder


class CMakeTest(VendoringTest):
    cmake = "cmake"

    def project(self, text, head=HEAD, loam=AS_SUBDIRECTORY):
        """A project whose folder holds program.c."""
        self.begin = head + (loam if loam == AS_SUBDIRECTORY else "")
        self.write("program.c", PROGRAM)
        self.write("CMakeLists.txt", head + loam + text)

    def begin_with_known_compiler(self, *arguments):
        """What CMake finds out about a compiler it need not find out for each project."""
        begun = configured(self.cmake, self.begin, *(
            word for word in arguments if word.startswith(OF_COMPILER))).name
        shutil.copytree(os.path.join(begun, "build", "CMakeFiles"), self.path("build", "CMakeFiles"))
        with open(os.path.join(begun, "build", "CMakeCache.txt"), encoding="utf-8") as file:
            cache = file.read().replace(begun, self.folder)
        self.write("build/CMakeCache.txt", re.sub(r"//.*\nLOAM_COMMAND:.*\n", "", cache))

    def configure(self, *arguments):
        if not os.path.exists(self.path("build")):
            self.begin_with_known_compiler(*arguments)
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
