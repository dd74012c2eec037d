#!/usr/bin/env python3
"""A C developer takes the released sources by CMake's FetchContent, and the build proves with the
released command that the program is on loam."""
from support import HELLO, expect, released, run, walk, write

PROJECT = """cmake_minimum_required(VERSION 3.20)
project(first LANGUAGES C)
include(FetchContent)
FetchContent_Declare(loam URL file://{sources} DOWNLOAD_EXTRACT_TIMESTAMP OFF)
FetchContent_MakeAvailable(loam)
add_executable(first first.c)
loam_override(first)
"""


def main(release, folder):
    run("tar", "-xf", released(release, "loam-*-ARCH-linux.tar.gz"), folder=folder)
    command = released(folder, "loam-*-ARCH-linux") + "/bin/loam"
    write(folder + "/first.c", HELLO)
    sources = released(release, "loam-*[0-9].tar.gz")
    write(folder + "/CMakeLists.txt", PROJECT.format(sources=sources))
    # What is tested is how loam gets into the program, not how fast it is.
    said = run("cmake", "-S", ".", "-B", "build", "-G", "Ninja", "-DLOAM_OPTIMIZE=OFF",
               "-DLOAM_COMMAND=" + command, folder=folder)
    expect("-- loam_override(first): verified after each link\n" in said, said)
    run("cmake", "--build", "build", folder=folder)
    said = run("build/first", folder=folder)
    expect(said == "hello\n", said)
    said = run(command, "verify", "build/first", folder=folder)
    expect(said.splitlines()[-1] == f"loam: {folder}/build/first", said)


if __name__ == "__main__":
    walk(main)
