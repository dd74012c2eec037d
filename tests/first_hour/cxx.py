#!/usr/bin/env python3
"""A C++ developer unpacks the tarball and finds loam in it by CMake's find_package: the program's new
and its containers are on loam, the build proves it after the link, and a sanitizer is refused."""
from support import expect, released, run, walk, write

PROJECT = """cmake_minimum_required(VERSION 3.20)
project(first LANGUAGES C CXX)
set(CMAKE_CXX_STANDARD 17)
find_package(loam 0.1 REQUIRED)
add_executable(first first.cpp)
loam_override(first)
"""
PROGRAM = """#include <loam/memory_resource.hpp>
#include <iostream>
#include <string>
#include <vector>
int main() {
  std::vector<std::string> ordinary(100, std::string(1000, 'x'));
  loam::heap heap;
  std::pmr::vector<int> numbers({1, 2, 3}, &heap);
  auto of_loam = [](void *block) { return loam_malloc_usable_size(block) != 0; };
  std::cout << of_loam(ordinary.data()) << of_loam(ordinary[9].data()) << numbers.size() << "\\n";
}
"""


def main(release, folder):
    run("tar", "-xf", released(release, "loam-*-ARCH-linux.tar.gz"), folder=folder)
    installed = released(folder, "loam-*-ARCH-linux")
    write(folder + "/CMakeLists.txt", PROJECT)
    write(folder + "/first.cpp", PROGRAM)
    configure = ["cmake", "-S", ".", "-B", "build", "-G", "Ninja",
                 "-DCMAKE_PREFIX_PATH=" + installed]
    said = run(*configure, folder=folder)
    expect("-- loam_override(first): verified after each link\n" in said, said)
    run("cmake", "--build", "build", folder=folder)
    said = run("build/first", folder=folder)
    expect(said == "113\n", said)
    said = run(installed + "/bin/loam", "verify", "build/first", folder=folder)
    expect("all of it is loam's" in said, said)
    said = run(*configure, "-DCMAKE_CXX_FLAGS=-fsanitize=address", folder=folder, status=1)
    expect("sanitize" in said, said)


if __name__ == "__main__":
    walk(main)
