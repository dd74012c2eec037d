#!/usr/bin/env python3
"""CMakePresets.json: both presets that run here, down to one test for Windows under wine."""
import unittest

from support import ROOT, VendoringTest, run


class Presets(VendoringTest):
    def configured(self, preset):
        build = self.path(preset)
        result = run("cmake", "--preset", preset, "-B", build, "-DLOAM_OPTIMIZE=OFF", folder=ROOT)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        return build

    def test_linux(self):
        build = self.configured("linux")
        tests = self.succeed("ctest", "--test-dir", build, "-N")
        for name in ("api.calloc_zero.fast", "windows.names.ucrt"):
            self.assertIn(f": {name}\n", tests)

    def test_windows_cross_compiled(self):
        build = self.configured("windows-wine")
        tests = self.succeed("ctest", "--test-dir", build, "-N")
        for name in ("windows.api.calloc_zero.fast", "windows.misuse.free_sized_wrong.checking"):
            self.assertIn(f": {name}\n", tests)
        self.succeed("cmake", "--build", build, "--target", "tests/windows/names.own.exe")
        self.succeed("ctest", "--test-dir", build, "--fixture-exclude-any", "wine",
                     "--no-tests=error", "-R", r"^windows\.names\.own$")

    def test_windows_itself_is_not_offered_here(self):
        result = run("cmake", "--preset", "windows", "-B", self.path("windows"), folder=ROOT)
        self.assertEqual(result.returncode, 1)
        self.assertIn("disabled preset", result.stderr)


if __name__ == "__main__":
    unittest.main()
