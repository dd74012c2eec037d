#!/usr/bin/env python3
"""What loam_override() refuses when a project is configured, with the reason and the way out."""
import os
import unittest

from support.cmake import CMakeTest

# clang builds for Microsoft's ABI as well. There is nothing here to link with.
MICROSOFT = ("-DCMAKE_SYSTEM_NAME=Windows", "-DCMAKE_SYSTEM_PROCESSOR=AMD64",
             "-DCMAKE_C_COMPILER=clang", "-DCMAKE_C_COMPILER_TARGET=x86_64-pc-windows-msvc",
             "-DCMAKE_TRY_COMPILE_TARGET_TYPE=STATIC_LIBRARY")
MINGW = ("-DCMAKE_SYSTEM_NAME=Windows", "-DCMAKE_C_COMPILER=x86_64-w64-mingw32-gcc-posix",
         "-DCMAKE_CXX_COMPILER=x86_64-w64-mingw32-g++-posix")
PROGRAM = "add_executable(app program.c)\n"
OVERRIDE = "loam_override(app)\n"
SANITIZER = ("and the {0} sanitizer needs malloc for itself. "
             "Call loam_override() only in builds without it.")
BOTH = "which replaces malloc as well. Link one of the two only."


class Sanitizers(CMakeTest):
    def refused(self, flag, text, *arguments, sanitizer="address"):
        self.project(text)
        self.assert_refused(f"loam_override(app): it is built with {flag}, "
                            + SANITIZER.format(sanitizer), *arguments)

    def test_flag_on_the_target(self):
        self.refused("-fsanitize=address", PROGRAM
                     + "target_compile_options(app PRIVATE -fsanitize=address)\n" + OVERRIDE)

    def test_flag_added_later(self):
        self.refused("-fsanitize=undefined,thread", PROGRAM + OVERRIDE
                     + "target_link_options(app PRIVATE -fsanitize=undefined,thread)\n",
                     sanitizer="thread")

    def test_flag_of_a_library_that_is_linked(self):
        self.refused("-fsanitize=memory", PROGRAM + OVERRIDE + """
            add_library(inner INTERFACE)
            target_compile_options(inner INTERFACE -fsanitize=memory)
            add_library(outer INTERFACE)
            target_link_libraries(outer INTERFACE inner)
            target_link_libraries(app PRIVATE outer)\n""", sanitizer="memory")

    def test_flag_given_to_cmake(self):
        self.refused("-fsanitize=leak", PROGRAM + OVERRIDE, "-DCMAKE_C_FLAGS=-fsanitize=leak",
                     sanitizer="leak")

    def test_flag_of_the_configuration(self):
        self.refused("-fsanitize=address", PROGRAM + OVERRIDE, "-DCMAKE_BUILD_TYPE=Asan",
                     "-DCMAKE_C_FLAGS_ASAN=-fsanitize=address")

    def test_others_are_permitted(self):
        self.project(PROGRAM + OVERRIDE + """target_compile_options(app PRIVATE
            -fsanitize=undefined -fno-sanitize=address
            $<$<CONFIG:Asan>:-fsanitize=address>)\n""")
        result = self.configure("-DCMAKE_BUILD_TYPE=Release",
                                "-DCMAKE_C_FLAGS_ASAN=-fsanitize=address")
        self.assertEqual(result.returncode, 0, result.stderr)


class Kinds(CMakeTest):
    def refused(self, sentence, text):
        self.project(text)
        self.assert_refused(sentence)

    def test_shared_library_and_module(self):
        for kind in ("SHARED", "MODULE"):
            with self.subTest(kind):
                self.refused("loam_override(app): a shared library or module would force its malloc"
                             " on every program that loads it. Call it for the executables; or add"
                             " ALLOW_SHARED_LIBRARY if that is what you want.",
                             f"add_library(app {kind} program.c)\n" + OVERRIDE)

    def test_shared_library_that_wants_it(self):
        self.project("add_library(app SHARED program.c)\nloam_override(app ALLOW_SHARED_LIBRARY)\n")
        self.assert_built()

    def test_static_library(self):
        self.refused("loam_override(app): it is not linked by itself: its type is STATIC_LIBRARY. "
                     "Call it for the executables that take it in.",
                     "add_library(app STATIC program.c)\n" + OVERRIDE)

    def test_no_such_target(self):
        self.refused("loam_override(app): there is no such target. "
                     "Add it with add_executable() before.", OVERRIDE)

    def test_imported_program(self):
        self.refused("loam_override(app): it is imported, so its link is over. "
                     "Preload libloam.so: loam run.",
                     "add_executable(app IMPORTED)\n" + OVERRIDE)

    def test_program_of_another_folder(self):
        self.write("inner/CMakeLists.txt", "add_executable(app ../program.c)\n")
        self.refused(f"loam_override(app): it was added in {self.folder}/inner. "
                     "Call loam_override() there.", "add_subdirectory(inner)\n" + OVERRIDE)

    def test_unknown_argument(self):
        self.refused("loam_override(app): unknown argument SILENT. "
                     "The form is loam_override(TARGET [QUIET] [ALLOW_SHARED_LIBRARY]).",
                     PROGRAM + "loam_override(app SILENT)\n")


class Allocators(CMakeTest):
    def refused(self, name, text):
        self.project(PROGRAM + OVERRIDE + text)
        self.assert_refused(f"loam_override(app): it links {name}, {BOTH}")

    def test_libraries_by_name_flag_and_path(self):
        for name in ("jemalloc", "-ltcmalloc_minimal", "/usr/lib/libmimalloc.so.2",
                     "/opt/libtbbmalloc_proxy.so"):
            with self.subTest(name):
                self.refused(name, f"target_link_libraries(app PRIVATE {name})\n")

    def test_targets_however_deep(self):
        for name in ("mimalloc-static", "unofficial::mimalloc::mimalloc", "PkgConfig::JEMALLOC"):
            with self.subTest(name):
                self.refused(name, f"""
                    add_library({name} INTERFACE IMPORTED)
                    add_library(inner INTERFACE)
                    target_link_libraries(inner INTERFACE {name})
                    target_link_libraries(app PRIVATE inner)\n""")

    def test_imported_file(self):
        self.refused("/usr/lib/libjemalloc.so.2", """
            add_library(memory SHARED IMPORTED)
            set_target_properties(memory PROPERTIES IMPORTED_LOCATION /usr/lib/libjemalloc.so.2)
            target_link_libraries(app PRIVATE memory)\n""")

    def test_folders_of_that_name_are_permitted(self):
        self.project(PROGRAM + OVERRIDE + """
            add_library(jemallocator INTERFACE)
            target_link_libraries(app PRIVATE jemallocator /opt/mimalloc/libother.so)\n""")
        self.assertEqual(self.configure().returncode, 0)


class Platforms(CMakeTest):
    WAY_OUT = ("Leave loam_override() out there; or set LOAM_ALLOW_OTHER_PLATFORMS=ON to try.")

    def refused(self, platform, *arguments):
        self.project(PROGRAM + OVERRIDE)
        self.assert_refused(f"loam_override(app): loam was never run on {platform}. {self.WAY_OUT}",
                            *arguments)

    def test_system(self):
        self.refused("FreeBSD on x86_64 with 64 bits", "-DCMAKE_SYSTEM_NAME=FreeBSD",
                     "-DCMAKE_SYSTEM_PROCESSOR=amd64")

    def test_processor(self):
        self.refused("Linux on sparc64 with 64 bits", "-DCMAKE_SYSTEM_NAME=Linux",
                     "-DCMAKE_SYSTEM_PROCESSOR=sparc64")

    def test_windows_on_aarch64(self):
        self.refused("Windows on aarch64 with 64 bits", "-DCMAKE_SYSTEM_PROCESSOR=ARM64", *MINGW)

    def test_microsofts_abi(self):
        self.refused("Windows on x86_64 with 64 bits and Microsoft's C runtime", *MICROSOFT)

    def test_other_platforms_may_be_tried(self):
        self.project(PROGRAM + OVERRIDE)
        result = self.configure("-DCMAKE_SYSTEM_NAME=Linux", "-DCMAKE_SYSTEM_PROCESSOR=sparc64",
                                "-DLOAM_ALLOW_OTHER_PLATFORMS=ON")
        self.assertEqual(result.returncode, 0, result.stderr)


class Command(CMakeTest):
    def test_what_is_not_the_loam_command(self):
        self.project(PROGRAM + OVERRIDE)
        for command in (self.path("loam"), self.path("program.c"), "/bin/true", self.folder):
            with self.subTest(command):
                self.assert_refused(f"loam_override(app): LOAM_COMMAND is {command}, which is not "
                                    "the loam command. Set it to the path of one; or to OFF, and "
                                    "nothing is verified.", "-DLOAM_COMMAND=" + command)

    def test_another_program_of_that_name_is_passed_over(self):
        self.write("bin/loam", "#!/bin/sh\necho soil\n")
        os.chmod(self.path("bin", "loam"), 0o755)
        self.project(PROGRAM + OVERRIDE)
        result = self.configure("-DCMAKE_PROGRAM_PATH=" + self.path("bin"))
        self.assertEqual(result.returncode, 0, result.stderr)

    def test_off(self):
        self.project(PROGRAM + OVERRIDE)
        result = self.configure("-DLOAM_COMMAND=OFF")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("loam_override(app): not verified: ", result.stdout)


class WindowsRuntimes(CMakeTest):
    DLL = ("loam_override(app): it uses the C runtime's DLL, whose malloc a program cannot replace."
           " Set its MSVC_RUNTIME_LIBRARY to MultiThreaded.")
    DEBUG = ("loam_override(app): it uses the Debug C runtime, which keeps its own records of each"
             " block. Set its MSVC_RUNTIME_LIBRARY to MultiThreaded, or call loam_override() only"
             " in Release builds.")

    def refused(self, sentence, text, *arguments):
        self.project(PROGRAM + text + OVERRIDE)
        self.assert_refused(sentence, "-DLOAM_ALLOW_OTHER_PLATFORMS=ON", *MICROSOFT, *arguments)

    def test_dll_by_default(self):
        self.refused(self.DLL, "", "-DCMAKE_BUILD_TYPE=Release")

    def test_debug_by_default_in_debug_builds(self):
        self.refused(self.DEBUG, "", "-DCMAKE_BUILD_TYPE=Debug")

    def test_debug_by_name(self):
        self.refused(self.DEBUG,
                     "set_property(TARGET app PROPERTY MSVC_RUNTIME_LIBRARY MultiThreadedDebug)\n",
                     "-DCMAKE_BUILD_TYPE=Release")

    def test_dll_by_flag(self):
        self.refused(self.DLL, "target_compile_options(app PRIVATE /MD)\n"
                     "set_property(TARGET app PROPERTY MSVC_RUNTIME_LIBRARY MultiThreaded)\n",
                     "-DCMAKE_BUILD_TYPE=Release")


class MinGW(CMakeTest):
    def test_shared_library(self):
        self.project("add_library(app SHARED program.c)\n" + OVERRIDE)
        self.assert_refused("loam_override(app): a shared library or module would force its malloc"
                            " on every program that loads it.", *MINGW)

    def test_debug_runtime(self):
        self.project(PROGRAM + OVERRIDE + "target_link_libraries(app PRIVATE -lucrtbased)\n")
        self.assert_refused("loam_override(app): it links -lucrtbased, the Debug C runtime, which"
                            " keeps its own records of each block. Link the release form of that"
                            " library.", *MINGW)

    def test_cpp_library_as_a_dll(self):
        program = "enable_language(CXX)\nadd_executable(app program.cpp)\n" + OVERRIDE
        self.write("program.cpp", "int main() {}\n")
        self.project(program)
        self.assert_refused("loam_override(app): it takes the C++ library as a DLL, whose operators"
                            " new and delete stay on the C runtime's heap. Add -static, or"
                            " -static-libstdc++, to its link options.", *MINGW)
        self.project(program + "target_link_options(app PRIVATE -static-libstdc++)\n")
        result = self.configure(*MINGW)
        self.assertEqual(result.returncode, 0, result.stderr)


if __name__ == "__main__":
    unittest.main()
