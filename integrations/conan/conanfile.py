"""loam for Conan 2: `conan create integrations/conan` in a checkout or an unpacked tarball."""
import os
import re

from conan import ConanFile
from conan.errors import ConanInvalidConfiguration
from conan.tools.cmake import CMake, CMakeToolchain, cmake_layout
from conan.tools.files import copy, load

# Where loam has been run; on Windows built with MinGW, under wine.
PLATFORMS = {("Linux", arch) for arch in ("x86_64", "x86", "armv8", "armv7hf", "riscv64")}
PLATFORMS |= {("Windows", arch) for arch in ("x86_64", "x86")}


class Loam(ConanFile):
    name = "loam"
    description = "A general-purpose memory allocator"
    license = "MIT OR Apache-2.0"
    package_type = "static-library"
    settings = "os", "arch", "compiler", "build_type"
    # -O2 whatever the build type: whoever debugs a program rarely debugs its malloc.
    options = {"optimize": [True, False]}
    default_options = {"optimize": True}

    def _root(self):
        return os.path.dirname(os.path.dirname(self.recipe_folder))

    def set_version(self):
        header = load(self, os.path.join(self._root(), "include", "loam", "loam.h"))
        self.version = re.search(r'#define LOAM_VERSION "([^"]+)"', header)[1]

    def export_sources(self):
        for pattern in ("CMakeLists.txt", "LICENSE-*", "*.md", "cmake/*", "include/*", "src/*"):
            copy(self, pattern, self._root(), self.export_sources_folder)

    def validate(self):
        platform = (str(self.settings.os), str(self.settings.arch))
        if platform not in PLATFORMS:
            raise ConanInvalidConfiguration("loam was never run on {} on {}".format(*platform))
        if self.settings.compiler == "msvc" or self.settings.get_safe("compiler.runtime"):
            raise ConanInvalidConfiguration("loam was never run with Microsoft's C runtime")

    def layout(self):
        cmake_layout(self)

    def generate(self):
        toolchain = CMakeToolchain(self)
        toolchain.cache_variables["LOAM_OPTIMIZE"] = bool(self.options.optimize)
        toolchain.generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        CMake(self).install()

    def package_info(self):
        # The package's own CMake files, which have loam_override().
        self.cpp_info.set_property("cmake_find_mode", "none")
        self.cpp_info.builddirs = [os.path.join("lib", "cmake", "loam")]
        self.cpp_info.libs = ["loam-api"]
