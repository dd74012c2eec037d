#!/usr/bin/env python3
"""Marks of branch protection: a linker takes them from the whole program for one object without."""
import os
import re
import subprocess
import unittest

from support import ROOT, VendoringTest, run

EMPTY = "int program(void) { return 0; }\n"
SOURCES = ("-I" + os.path.join(ROOT, "src"), "-I" + os.path.join(ROOT, "include"))
# Debian's start files and C library have no marks: only what is ours is linked.
ALONE = ("-shared", "-nostdlib", "-nostartfiles")
OBJECTS = ("loam.o", "loam-checking.o")
TARGETS = ("loam_relocatable", "loam-checking_relocatable", "loam_static", "loam_shared",
           "loam-dlopen_shared")


class Processor:
    def __init__(self, name, prefix, protection, link, marks):
        self.name, self.protection, self.link, self.marks = name, protection, link, marks
        self.compiler, self.objcopy = prefix + "gcc", prefix + "objcopy"
        self.linker = prefix + "ld"

    def configuration(self):
        return (f"-DCMAKE_C_COMPILER={self.compiler}", f"-DCMAKE_OBJCOPY=/usr/bin/{self.objcopy}",
                "-DCMAKE_SYSTEM_NAME=Linux", f"-DCMAKE_SYSTEM_PROCESSOR={self.name}")


X86_64 = Processor("x86_64", "x86_64-linux-gnu-", "-fcf-protection=full",
                   "-Wl,-z,cet-report=error", "IBT, SHSTK")
AARCH64 = Processor("aarch64", "aarch64-linux-gnu-", "-mbranch-protection=standard",
                    "-Wl,-z,force-bti,--fatal-warnings", "BTI, PAC")


def marks_of(path):
    """As readelf names them; nothing is linked to read them."""
    notes = subprocess.run(["readelf", "-nW", path], capture_output=True, text=True, check=True)
    match = re.search(r"(?:x86|AArch64) feature: ([A-Z, ]+)$", notes.stdout, re.M)
    return match[1] if match is not None else ""


class Marks(VendoringTest):
    def build(self, processor, *options):
        folder = self.path("build")
        self.succeed("cmake", "-S", ROOT, "-B", folder, "-DCMAKE_BUILD_TYPE=Release",
                     *processor.configuration(), "-DLOAM_OPTIMIZE=OFF",
                     "-DCMAKE_C_FLAGS_RELEASE=-O1 -DNDEBUG", *options)
        self.succeed("cmake", "--build", folder, "--parallel", "2", "--target", *TARGETS)
        return self.path("lib")

    def check_links(self, processor, *files):
        program = self.path("program.o")
        source = self.write("program.c", EMPTY)
        self.succeed(processor.compiler, "-fPIC", processor.protection, "-c", source, "-o", program)
        library = self.path("program.so")
        self.succeed(processor.compiler, *ALONE, program, *files, processor.link, "-o", library)
        self.assertEqual(marks_of(library), processor.marks)

    def check_built(self, processor, folder):
        for name in OBJECTS:
            path = os.path.join(folder, name)
            self.check_links(processor, path)
            joined = self.path("joined.o")
            self.succeed(processor.linker, "-r", path, "-o", joined)
            self.check_links(processor, joined)
        archive = os.path.join(folder, "libloam.a")
        self.check_links(processor, "-Wl,--whole-archive", archive, "-Wl,--no-whole-archive")
        for name in ("libloam.so", "libloam-dlopen.so"):
            self.assertEqual(marks_of(os.path.join(folder, name)), processor.marks, name)

    def test_builds_with_the_option(self):
        for processor in (X86_64, AARCH64):
            with self.subTest(processor=processor.name):
                self.setUp() # a folder of its own
                self.check_built(processor, self.build(processor, "-DLOAM_CET=ON"))

    def test_builds_with_the_users_flags(self):
        flags = "-DCMAKE_C_FLAGS=" + X86_64.protection
        self.check_built(X86_64, self.build(X86_64, flags))

    def test_other_builds_for_x86_64_are_marked_for_shadow_stacks(self):
        folder = self.build(X86_64)
        for name in (*OBJECTS, "libloam.so", "libloam-dlopen.so"):
            self.assertEqual(marks_of(os.path.join(folder, name)), "SHSTK", name)

    def test_the_one_file_with_the_users_flags(self):
        for processor in (X86_64, AARCH64):
            for definitions in ((), ("-DLM_CHECKING=1",), ("-DLM_HARDENED=1",)):
                with self.subTest(processor=processor.name, definitions=definitions):
                    loam = self.path("loam.o")
                    self.succeed(processor.compiler, "-O1", "-fPIC", processor.protection,
                                 *definitions, *SOURCES, "-c", os.path.join(ROOT, "src", "loam.c"),
                                 "-o", loam)
                    self.check_links(processor, loam)

    def test_a_processor_without_marks_is_refused(self):
        result = run("cmake", "-S", ROOT, "-B", self.path("build"), "-DLOAM_CET=ON",
                     "-DCMAKE_C_COMPILER=riscv64-linux-gnu-gcc", "-DCMAKE_SYSTEM_NAME=Linux",
                     "-DCMAKE_SYSTEM_PROCESSOR=riscv64")
        self.assertNotEqual(result.returncode, 0)
        self.assertIn("loam: LOAM_CET: ", result.stderr)
        self.assertIn("knows no such marks for this processor", " ".join(result.stderr.split()))


if __name__ == "__main__":
    unittest.main()
