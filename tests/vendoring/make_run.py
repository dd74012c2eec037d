#!/usr/bin/env python3
# label: long
"""`make run`, the first thing that somebody does: short, without the whole command, and proven."""
import os
import unittest

from support import ROOT, VendoringTest, run


class MakeRun(VendoringTest):
    def make_run(self, *arguments):
        return run("make", "--no-print-directory", "run", "BUILD=" + self.path("build"),
                   "CONFIG=Debug", *arguments, folder=ROOT)

    def test_it_proves_and_runs_with_what_that_takes(self):
        result = self.make_run("CMD=echo a word")
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assertIn("echo (with loam preloaded): all of it is loam's: ", result.stdout)
        self.assertIn("\na word\n", result.stdout)
        lines = (result.stdout + result.stderr).splitlines()
        self.assertLessEqual(len(lines), 40, lines)
        self.assertIn("make: building the command", lines)
        self.assertFalse(os.path.exists(self.path("build", "bin")))
        other = run(self.path("build", "run", "tests", "loam"), "explain", "1")
        self.assertEqual((other.returncode, other.stderr),
                         (2, "loam: this command is built for 'run' and 'verify' alone; 'make cli' "
                             "builds all of it\n"))

    def test_it_says_what_it_wants(self):
        result = self.make_run()
        self.assertEqual(result.returncode, 2)
        self.assertIn("say what to run: make run CMD='program arguments'", result.stderr)


if __name__ == "__main__":
    unittest.main()
