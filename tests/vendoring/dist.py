#!/usr/bin/env python3
"""dist/loam.c: made twice the same, without warnings, with and without the malloc replacement."""
import filecmp
import os
import re
import shutil
import subprocess
import sys
import tarfile
import unittest

from support import API_PROGRAM, PYTHON_MODULE, ROOT, VendoringTest, run

DIST = os.path.join(ROOT, "scripts", "dist.py")
ZIG = (*PYTHON_MODULE, "ziglang", "cc")
# clang finds what it warns of before it optimises. Zig would add checks.
CLANG_SOON = ("-O0",)
ZIG_SOON = (*CLANG_SOON, "-fno-sanitize=undefined")
COMPILERS = {"gcc": ("gcc", "-O1"), "clang": ("clang", *CLANG_SOON), "zig cc": (*ZIG, *ZIG_SOON)}
C_FLAGS = ("-std=c11", "-Wall", "-Wextra")
MODES = {(): "loam", ("-DLOAM_NO_OVERRIDE",): "other"}


class Dist(VendoringTest):
    @classmethod
    def setUpClass(cls):
        cls.made = cls.shared_folder()
        subprocess.run([DIST, cls.made], check=True)

    def setUp(self):
        super().setUp()
        shutil.copytree(self.made, self.folder, dirs_exist_ok=True)

    def test_the_same_sources_give_the_same_bytes(self):
        again = self.path("again")
        self.succeed(DIST, again)
        for name in os.listdir(again):
            self.assertTrue(filecmp.cmp(self.path(name), os.path.join(again, name), False), name)

    def test_no_include_of_the_repository_is_left(self):
        with open(self.path("loam.c"), encoding="utf-8") as file:
            text = file.read()
        self.assertEqual(set(re.findall(r'#\s*include "([^"]+)"', text)), {"loam.h"})

    def test_version_and_licence_stand_at_the_top(self):
        with open(os.path.join(ROOT, "LICENSE-MIT"), encoding="utf-8") as file:
            licence = [f" * {line}".rstrip() for line in file.read().strip().splitlines()]
        with open(self.path("loam.h"), encoding="utf-8") as file:
            header = file.read()
        version = re.search(r'#define LOAM_VERSION "(.*)"', header)[1]
        with open(self.path("loam.c"), encoding="utf-8") as file:
            heading = file.read().partition("*/")[0]
        self.assertTrue(heading.startswith(f"/* loam {version}: "), heading)
        self.assertIn("\n".join(licence), heading)
        self.assertIn("License: MIT OR Apache-2.0", header.partition("*/")[0])

    def test_c_and_cpp_programs_in_both_modes_without_warnings(self):
        c_file = self.write("program.c", API_PROGRAM)
        cpp_file = self.write("program.cpp", API_PROGRAM)
        for name, compiler in COMPILERS.items():
            for definitions, owner in MODES.items():
                with self.subTest(compiler=name, definitions=definitions):
                    loam_object = self.path("loam.o")
                    self.succeed(*compiler, *C_FLAGS, *definitions, "-c", self.path("loam.c"),
                                 "-o", loam_object)
                    self.check_program("gcc", c_file, loam_object, owner)
                    self.check_program("g++", cpp_file, loam_object, owner)

    def check_program(self, compiler, source, loam_object, owner):
        program = self.path("program")
        self.succeed(compiler, "-Wall", "-I" + self.folder, loam_object, source, "-o", program)
        output = self.succeed(program)
        self.assertRegex(output, rf"^loam \d+\.\d+\.\d+, malloc {owner}\n$")

    def test_the_tarball_has_sources_and_generated_files(self):
        name = next(name for name in os.listdir(self.folder) if name.endswith(".tar.gz"))
        with tarfile.open(self.path(name)) as archive:
            files = {entry.name.partition("/")[2]: entry for entry in archive.getmembers()}
        for path in ("dist/loam.c", "dist/loam.h", "src/loam.c", "CMakeLists.txt", "LICENSE-MIT"):
            self.assertIn(path, files)
        self.assertEqual({(entry.mtime, entry.uid) for entry in files.values()}, {(0, 0)})

    def test_an_unwritable_folder_is_one_line(self):
        blocked = self.write("file", "")
        result = run(DIST, blocked)
        self.assertEqual(result.returncode, 2)
        self.assertRegex(result.stderr, rf"^dist: {blocked}\S* cannot be written: .*\n$")

    def test_a_missing_git_is_one_line(self):
        result = run(sys.executable, DIST, self.path("out"), environment={"PATH": self.folder})
        self.assertEqual(result.returncode, 2)
        self.assertEqual(result.stderr, "dist: git cannot be run, and lists the tarball's files: "
                         "No such file or directory\n")
        self.assertFalse(os.path.exists(self.path("out")))


if __name__ == "__main__":
    unittest.main()
