#!/usr/bin/env python3
"""loam as a Meson subproject: both dependencies, from the folder and from a wrap, and refusals."""
import os
import shutil
import subprocess
import unittest

from support import API_PROGRAM, ROOT, VendoringTest, run

PROJECT = """project('consumer', 'c')
executable('api', 'program.c', dependencies: dependency('loam'))
executable('override', 'program.c', dependencies: dependency('loam-override'))
"""
VERIFYING = """project('consumer', 'c')
loam = dependency('loam-override')
program = executable('program', 'program.c', dependencies: {dependencies})
custom_target('program-on-loam', input: program, output: 'program.on-loam', build_by_default: true,
  command: [find_program('loam-verify'), '@INPUT@', '@OUTPUT@'])
"""
# A compiler that runs, whatever it is said to build for.
CROSS = """[binaries]
c = 'gcc'
[host_machine]
system = '{system}'
cpu_family = '{processor}'
cpu = '{processor}'
endian = 'little'
"""


class Meson(VendoringTest):
    def setUp(self):
        super().setUp()
        self.write("program.c", API_PROGRAM.replace("<loam.h>", "<loam/loam.h>"))
        self.write("meson.build", PROJECT)
        self.write_wrap()

    @classmethod
    def setUpClass(cls):
        cls.made = cls.shared_folder()
        subprocess.run([os.path.join(ROOT, "scripts", "dist.py"), cls.made], check=True)

    def write_wrap(self):
        """What `make dist` writes, with its tarball where Meson looks for one."""
        dist = self.path("subprojects", "packagefiles")
        shutil.copytree(self.made, dist)
        os.rename(os.path.join(dist, "loam.wrap"), self.path("subprojects", "loam.wrap"))

    def configure(self, *arguments):
        return run("meson", "setup", *arguments, self.path("build"), self.folder)

    def test_both_dependencies(self):
        result = self.configure("-Dloam:optimize=false")
        self.assertEqual(result.returncode, 0, result.stdout)
        result = run("meson", "compile", "-C", self.path("build"))
        self.assertEqual(result.returncode, 0, result.stdout)
        self.assertNotIn("warning", result.stdout)
        self.assertRegex(self.succeed(self.path("build", "api")), "malloc other$")
        self.assertRegex(self.succeed(self.path("build", "override")), "malloc loam$")

    def verifying(self, dependencies, command):
        """The build's output and status, of a program with these dependencies."""
        self.write("meson.build", VERIFYING.format(dependencies=dependencies))
        result = self.configure("-Dloam:optimize=false")
        self.assertEqual(result.returncode, 0, result.stdout)
        result = run("meson", "compile", "-C", self.path("build"),
                     environment={"LOAM_COMMAND": command})
        stamp = self.path("build", "program.on-loam")
        self.assertEqual(os.path.exists(stamp), result.returncode == 0, result.stdout)
        shutil.rmtree(self.path("build"))
        return result

    def test_a_build_fails_unless_the_program_is_on_loam(self):
        loam = os.path.join(ROOT, "build", "bin", "loam")
        self.assertTrue(os.path.exists(loam), "build/bin/loam is not there: make cli")
        result = self.verifying("loam", loam)
        self.assertEqual(result.returncode, 0, result.stdout)
        result = self.verifying("dependency('loam')", loam)
        self.assertNotEqual(result.returncode, 0)
        self.assertRegex(result.stdout + result.stderr,
                         "/program: (the link has left loam out|not all of it)")
        result = self.verifying("loam", "/nowhere/loam")
        self.assertNotEqual(result.returncode, 0)
        self.assertIn("cannot be verified: /nowhere/loam: No such file or directory",
                      result.stdout + result.stderr)

    def test_sanitizers_are_refused(self):
        for argument in ("-Db_sanitize=address,undefined", "-Dc_args=-fsanitize=address"):
            with self.subTest(argument):
                result = self.configure(argument)
                shutil.rmtree(self.path("build"))
                self.assertEqual(result.returncode, 1, result.stdout)
                self.assertIn("loam-override: the address sanitizer needs malloc for itself. "
                              "Use it only in builds without it.", result.stdout)

    def test_platforms_where_loam_was_never_run_are_refused(self):
        for system, processor in (("freebsd", "x86_64"), ("linux", "sparc64"),
                                  ("windows", "aarch64")):
            with self.subTest(system):
                cross = self.write("cross.ini", CROSS.format(system=system, processor=processor))
                result = self.configure("--cross-file", cross)
                shutil.rmtree(self.path("build"))
                self.assertEqual(result.returncode, 1, result.stdout)
                self.assertIn(f"loam-override: loam was never run on {system} on {processor}. "
                              "Leave it out there.", result.stdout)


if __name__ == "__main__":
    unittest.main()
