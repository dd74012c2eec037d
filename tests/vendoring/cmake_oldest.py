#!/usr/bin/env python3
"""What cmake_package.py tests, with the oldest CMake that CMakeLists.txt asks for. Without it in
build/python the status is 77."""
# label: long
import os
import re
import sys
import unittest

from cmake_package import CMakePackage
from support import ROOT, run

SKIPPED = 77
CMAKE = os.path.join(ROOT, "build", "python", "cmake", "data", "bin", "cmake")
FILES = ("CMakeLists.txt", "tests/CMakeLists.txt", "bench/programs/CMakeLists.txt",
         "integrations/conan/test_package/CMakeLists.txt", "tests/vendoring/support/cmake.py")


class OldestCMake(CMakePackage):
    cmake = CMAKE
    # Of these the newer one is enough.
    test_as_subdirectory = test_installed = test_with_unused_sections_dropped = None

    def test_it_is_the_one_that_is_asked_for(self):
        version = re.search(r"version (\d+\.\d+)", run(CMAKE, "--version").stdout)[1]
        for name in FILES:
            with self.subTest(name), open(os.path.join(ROOT, name), encoding="utf-8") as file:
                asked_for = re.search(r"cmake_minimum_required\(VERSION ([0-9.]+)\)", file.read())
                self.assertEqual(asked_for[1], version)

    def test_loams_own_tests_are_configured(self):
        result = run(CMAKE, "-S", ROOT, "-B", self.path("build"), "-G", "Ninja",
                     "-DLOAM_BUILD_TESTS=ON")
        self.assertEqual(result.returncode, 0, result.stderr)


del CMakePackage # its tests run in their own file

if __name__ == "__main__":
    if not os.path.exists(CMAKE):
        print("not tested: there is no CMake in build/python; tests/run-all.sh installs it")
        sys.exit(SKIPPED)
    unittest.main()
