#!/usr/bin/env python3
"""The allocator is compiled with -O2, whatever the build type, unless told not to: in every build
system, read from the commands that it runs."""
import glob
import json
import os
import shlex
import shutil
import unittest

from support import API_PROGRAM, PYTHON_MODULE, ROOT, VendoringTest, run
from support.bazel import bazel, is_available, write_workspace
from support.cmake import AS_SUBDIRECTORY, HEAD

# What vcpkg's scripts do with a port: configure its debug form, then its release form.
VCPKG = """
set(CURRENT_PACKAGES_DIR "{folder}/packages")
set(CMAKE_CURRENT_LIST_DIR "{root}/integrations/vcpkg/loam")
function(vcpkg_cmake_configure)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" SOURCE_PATH OPTIONS)
  foreach(type Debug Release)
    execute_process(
      COMMAND ${{CMAKE_COMMAND}} -S "${{arg_SOURCE_PATH}}" -B "{folder}/build/${{type}}" -G Ninja
      -DCMAKE_BUILD_TYPE=${{type}} ${{arg_OPTIONS}} ${{VCPKG_CMAKE_CONFIGURE_OPTIONS}}
      OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
  endforeach()
endfunction()
foreach(name vcpkg_cmake_install vcpkg_cmake_config_fixup vcpkg_fixup_pkgconfig
             vcpkg_install_copyright)
  cmake_language(EVAL CODE "function(${{name}})\\nendfunction()")
endforeach()
include("{root}/integrations/vcpkg/loam/portfile.cmake")
"""


def level(arguments):
    """Of several the compiler takes the last one; without one it does not optimise."""
    return ([word for word in arguments if word.startswith("-O")] or ["-O0"])[-1]


class Optimised(VendoringTest):
    def levels(self, *folder):
        """The levels that the allocator's objects are compiled with."""
        with open(self.path(*folder, "compile_commands.json"), encoding="utf-8") as file:
            commands = json.load(file)
        found = {level(shlex.split(entry["command"])) for entry in commands
                 if os.path.basename(entry["file"]) == "loam.c"}
        self.assertTrue(found, "the allocator is not compiled")
        return found

    def configure_cmake(self, source, *arguments):
        result = run("cmake", "-S", source, "-B", self.path("build"), "-G", "Ninja",
                     "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON", *arguments)
        self.assertEqual(result.returncode, 0, result.stderr)
        return self.levels("build")

    def test_cmake_inside_a_project(self):
        self.write("CMakeLists.txt", HEAD + "add_compile_options(-Og)\n" + AS_SUBDIRECTORY)
        for arguments in ((), ("-DCMAKE_BUILD_TYPE=Debug",), ("-DCMAKE_BUILD_TYPE=MinSizeRel",),
                          ("-DCMAKE_BUILD_TYPE=", "-DCMAKE_C_FLAGS=-O0")):
            with self.subTest(arguments):
                self.assertEqual(self.configure_cmake(self.folder, *arguments), {"-O2"})
        self.assertEqual(self.configure_cmake(self.folder, "-DLOAM_OPTIMIZE=OFF"), {"-Og"})

    def test_cmake_alone(self):
        debug = "-DCMAKE_BUILD_TYPE=Debug"
        self.assertEqual(self.configure_cmake(ROOT, debug), {"-O2"})
        self.assertEqual(self.configure_cmake(ROOT, debug, "-DLOAM_OPTIMIZE=OFF"), {"-O0"})

    def test_meson(self):
        self.write("meson.build", "project('consumer', 'c')\ndependency('loam')\n"
                   "executable('program', 'program.c', dependencies: dependency('loam-override'))")
        self.write("program.c", "int main(void) { return 0; }\n")
        os.mkdir(self.path("subprojects"))
        os.symlink(ROOT, self.path("subprojects", "loam"))
        for expected, arguments in (("-O2", ("--buildtype=debug",)),
                                    ("-O2", ("--buildtype=plain", "-Dc_args=-O0")),
                                    ("-O0", ("--buildtype=debug", "-Dloam:optimize=false"))):
            with self.subTest(arguments):
                result = run("meson", "setup", *arguments, self.path("build"), self.folder)
                self.assertEqual(result.returncode, 0, result.stdout)
                self.assertNotIn("WARNING", result.stdout)
                self.assertEqual(self.levels("build"), {expected})
                shutil.rmtree(self.path("build"))

    def test_conan(self):
        conan = (*PYTHON_MODULE, "conans.conan")
        home = {"CONAN_HOME": self.path("conan")}
        result = run(*conan, "profile", "detect", environment=home)
        if "No module named" in result.stderr:
            self.skipTest("there is no Conan in build/python; tests/run-all.sh installs it")
        self.assertEqual(result.returncode, 0, result.stderr)
        for expected, option in (("-O2", "True"), ("-O0", "False")):
            with self.subTest(option):
                folder = self.path(option)
                result = run(*conan, "install", os.path.join(ROOT, "integrations", "conan"),
                             "--output-folder", folder, "-s", "build_type=Debug",
                             "-o", "&:optimize=" + option, environment=home)
                self.assertEqual(result.returncode, 0, result.stderr)
                self.assertEqual(self.configure_cmake(ROOT, *self.preset_of(folder)), {expected})

    def preset_of(self, folder):
        """What Conan's CMake helper gives to CMake."""
        path, = glob.glob(os.path.join(folder, "**", "CMakePresets.json"), recursive=True)
        with open(path, encoding="utf-8") as file:
            preset = json.load(file)["configurePresets"][0]
        yield "--toolchain"
        yield os.path.join(os.path.dirname(path), os.path.basename(preset["toolchainFile"]))
        for name, value in preset["cacheVariables"].items():
            yield f"-D{name}={value['value'] if isinstance(value, dict) else value}"

    def test_vcpkg(self):
        script = self.write("port.cmake", VCPKG.format(folder=self.folder, root=ROOT))
        for expected, option in (("-O2", "ON"), ("-O0", "OFF")):
            with self.subTest(option):
                self.succeed("cmake", "-DVCPKG_CMAKE_CONFIGURE_OPTIONS=-DLOAM_OPTIMIZE=" + option,
                             "-P", script)
                self.assertEqual(self.levels("build", "Debug"), {expected})

    def test_bazel(self):
        if not is_available():
            self.skipTest("there is no Bazel: apt-get install bazel-bootstrap bazel-rules-java")
        self.write("program.c", API_PROGRAM.replace("<loam.h>", "<loam/loam.h>"))
        write_workspace(self)
        for expected, arguments in (("-O2", ("--copt=-O0",)),
                                    ("-O0", ("--copt=-O0", "--define=loam_optimize=no"))):
            with self.subTest(arguments):
                result = bazel(self, "aquery", "-c", "dbg", "--output=jsonproto", *arguments,
                               'mnemonic("CppCompile", @loam//:all)')
                self.assertEqual(result.returncode, 0, result.stderr)
                commands = [action["arguments"] for action in json.loads(result.stdout)["actions"]]
                self.assertEqual({level(command) for command in commands
                                  if any(word.endswith("src/loam.c") for word in command)},
                                 {expected})


if __name__ == "__main__":
    unittest.main()
