#!/usr/bin/env python3
"""Projects cross-compiled with MinGW: what each build system makes of loam, run under wine."""
# label: long
import os
import re
import unittest

from support import API_PROGRAM, ROOT, run
from support.cmake import AS_SUBDIRECTORY, COMPILED_SOON, CMakeTest

LOAM_COMMAND = os.path.join(ROOT, "build", "bin", "loam")
WINE = os.path.join(ROOT, "tests", "windows", "wine.sh")
TRIPLE = "x86_64-w64-mingw32"
TRIPLE_32 = "i686-w64-mingw32"
GCC = TRIPLE + "-gcc-posix"
# clang finds what it warns of before it optimises.
COMPILERS = {"gcc": (GCC, "-O1"), "clang": ("clang", "--target=" + TRIPLE, "-O0")}
MODES = {(): "loam", ("-DLOAM_NO_OVERRIDE",): "other"}

# The processor is left out, as many projects have it.
TOOLCHAIN = f"""set(CMAKE_SYSTEM_NAME Windows)
set(CMAKE_C_COMPILER {GCC})
set(CMAKE_CXX_COMPILER {TRIPLE}-g++-posix)
"""
PROGRAMS = """
add_executable(api program.c)
target_link_libraries(api PRIVATE loam::loam)
add_executable(override program.c)
loam_override(override)
enable_language(CXX)
configure_file(program.c program.cpp COPYONLY)
add_executable(cpp ${CMAKE_CURRENT_BINARY_DIR}/program.cpp)
target_link_options(cpp PRIVATE -static)
loam_override(cpp)
"""
MESON_CROSS = """[binaries]
c = '{triple}-gcc-posix'
ar = '{triple}-ar'
[host_machine]
system = 'windows'
cpu_family = '{processor}'
cpu = '{processor}'
endian = 'little'
"""
MESON_PROJECT = """project('consumer', 'c')
executable('api', 'program.c', dependencies: dependency('loam'))
executable('override', 'program.c', dependencies: dependency('loam-override'))
"""


class MinGW(CMakeTest):
    def toolchain(self):
        return "-DCMAKE_TOOLCHAIN_FILE=" + self.write("toolchain.cmake", TOOLCHAIN)

    def assert_malloc(self, owner, *names):
        output = self.succeed(WINE, self.path(*names))
        self.assertRegex(output, rf"^loam \d+\.\d+\.\d+, malloc {owner}\n$")

    def assert_verified(self, *names):
        self.succeed(LOAM_COMMAND, "verify", self.path(*names))

    def check_cmake(self, loam, *arguments):
        self.project(PROGRAMS, loam=loam)
        arguments += (self.toolchain(), "-DLOAM_COMMAND=" + LOAM_COMMAND)
        self.assertIn("loam_override(override): verified after each link\n",
                      self.configure(*arguments).stdout)
        self.assert_built(*arguments)
        self.assert_malloc("other", "build", "api.exe")
        for program in ("override.exe", "cpp.exe"):
            self.assert_malloc("loam", "build", program)
            self.assert_verified("build", program)

    def test_cmake_subdirectory(self):
        self.check_cmake(AS_SUBDIRECTORY)

    def test_cmake_installed(self):
        build, prefix = self.path("loam", "cmake"), self.path("prefix")
        self.succeed("cmake", "-S", ROOT, "-B", build, "-G", "Ninja", *COMPILED_SOON,
                     self.toolchain())
        self.succeed("cmake", "--build", build)
        self.succeed("cmake", "--install", build, "--prefix", prefix)
        self.check_cmake("find_package(loam 0.1 REQUIRED)\n", "-Dloam_DIR="
                         + os.path.join(prefix, "lib", "cmake", "loam"))

    # What is built for 32 bit is not run here: tests/windows/x86.cmake does that.
    def test_cmake_32_bit(self):
        self.project("add_executable(override program.c)\nloam_override(override)\n")
        self.assert_built("-DCMAKE_SYSTEM_NAME=Windows", "-DLOAM_COMMAND=" + LOAM_COMMAND,
                          f"-DCMAKE_C_COMPILER={TRIPLE_32}-gcc-posix")
        self.assert_verified("build", "override.exe")

    def test_a_link_that_takes_the_cpp_library_as_a_dll_fails(self):
        # No source of the program's own is C++: only what was linked shows it.
        self.write("new.cpp", "int *made() { return new int; }\n")
        self.project("""enable_language(CXX)
            add_library(new STATIC new.cpp)
            add_executable(override program.c)
            target_link_libraries(override PRIVATE new)
            target_link_options(override PRIVATE -Wl,-u,_Z4madev)
            loam_override(override)\n""")
        result = self.build(self.toolchain(), "-DLOAM_COMMAND=" + LOAM_COMMAND)
        self.assertNotEqual(result.returncode, 0)
        self.assertIn("operator new: imported from libstdc++-6.dll, which has a heap of its own.",
                      re.sub(r"\s+", " ", result.stdout))

    def test_one_file_without_warnings(self):
        self.succeed(os.path.join(ROOT, "scripts", "dist.py"), self.folder)
        source = self.write("program.c", API_PROGRAM)
        for name, compiler in COMPILERS.items():
            for definitions, owner in MODES.items():
                with self.subTest(compiler=name, definitions=definitions):
                    loam_object = self.path("loam.o")
                    self.succeed(*compiler, "-std=c11", "-Wall", "-Wextra", *definitions,
                                 "-c", self.path("loam.c"), "-o", loam_object)
                    self.succeed(GCC, "-Wall", "-I" + self.folder, loam_object, source,
                                 "-o", self.path("program.exe"))
                    self.assert_malloc(owner, "program.exe")

    def build_with_meson(self, **machine):
        self.write("program.c", API_PROGRAM.replace("<loam.h>", "<loam/loam.h>"))
        self.write("meson.build", MESON_PROJECT)
        os.mkdir(self.path("subprojects"))
        os.symlink(ROOT, self.path("subprojects", "loam"))
        cross = self.write("cross.ini", MESON_CROSS.format(**machine))
        result = run("meson", "setup", "-Dloam:optimize=false", "--cross-file", cross,
                     self.path("build"), self.folder)
        self.assertEqual(result.returncode, 0, result.stdout)
        result = run("meson", "compile", "-C", self.path("build"))
        self.assertEqual(result.returncode, 0, result.stdout)
        self.assertNotIn("warning", result.stdout)
        self.assert_verified("build", "override.exe")

    def test_meson(self):
        self.build_with_meson(triple=TRIPLE, processor="x86_64")
        self.assert_malloc("other", "build", "api.exe")
        self.assert_malloc("loam", "build", "override.exe")

    def test_meson_32_bit(self):
        self.build_with_meson(triple=TRIPLE_32, processor="x86")


if __name__ == "__main__":
    unittest.main()
