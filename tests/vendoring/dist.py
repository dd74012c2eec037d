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


# Where those who compile the one file are told what to define, and how.
DOCUMENTS = {"misuse.md": r"`(?:-D)?(LM_\w+=1)`", "architecture.md": r"`((?:LM_\w+=1|LOAM_\w+))`[ ,][^|]*\|",
             "vendoring.md": r"-D(LOAM_(?:NO_OVERRIDE|HARDENED))(?!=)"}


def documented_definitions():
    found = set()
    for name, pattern in DOCUMENTS.items():
        with open(os.path.join(ROOT, "docs", name), encoding="utf-8") as file:
            there = re.findall(pattern, file.read())
        if not there:
            raise AssertionError(f"docs/{name} names no definition as {pattern}")
        found.update(there)
    return found


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

    def test_each_definition_that_is_documented(self):
        """Each gives a program that links and runs, of both forms of the one file."""
        source = self.write("program.c", API_PROGRAM)
        include = "-I" + os.path.join(ROOT, "include", "loam")
        forms = {"dist": [self.path("loam.c")],
                 "src": ["-I" + os.path.join(ROOT, name) for name in ("src", "include")]
                        + [os.path.join(ROOT, "src", "loam.c")]}
        for definition in sorted(documented_definitions()):
            for form, words in forms.items():
                with self.subTest(definition=definition, form=form):
                    program = self.path("program")
                    self.succeed("gcc", "-O0", *C_FLAGS, "-D" + definition, include, source, *words,
                                 "-o", program)
                    owner = "loam" if "OVERRIDE" not in definition else "other"
                    # A checking build's blocks are as long as was asked for.
                    if "CHECKING" not in definition:
                        self.assertRegex(self.succeed(program), f", malloc {owner}\n$")
                    else:
                        self.assertEqual(run(program).returncode, 1)

    def test_a_header_under_a_condition_that_others_do_not_have_is_one_line(self):
        for name in ("scripts/dist.py", "include/loam/loam.h", "LICENSE-MIT"):
            with open(os.path.join(ROOT, name), encoding="utf-8") as file:
                self.write(name, file.read())
        self.write("src/part.h", "#ifndef LM_PART_H\n#define LM_PART_H\n#endif\n")
        text = '#if LM_ONE\n#include "part.h"\n#endif\n#if LM_OTHER\n#include "part.h"\n#endif\n'
        self.write("src/loam.c", text)
        result = run(sys.executable, self.path("scripts", "dist.py"), self.path("out"))
        self.assertEqual((result.returncode, result.stderr),
                         (2, "dist: src/loam.c: includes part.h, which stands under another "
                             "condition: include it outside of conditions\n"))

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
