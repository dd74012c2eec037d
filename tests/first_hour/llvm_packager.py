#!/usr/bin/env python3
"""Someone packages LLVM and takes from the release a patch and the allocator's two files. In the place
of LLVM's 200 MB of sources stand build files of a few lines with what the patch looks for; a tool
made by them is on loam, and what cannot work is refused in LLVM's words. With clang-cl it is configured for
Windows and not built, since Microsoft's headers are not here. (The whole sources:
integrations/llvm/check-patch.sh.)"""
import glob
import os
import re
import shutil

from support import expect, released, run, walk, write

BOTH = ("llvm/CMakeLists.txt", "llvm/lib/Support/CMakeLists.txt")
# Before and behind what a patch looks for in the build file; it begins within two conditions.
HEAD = {BOTH[0]: "cmake_minimum_required(VERSION 3.20)\nproject(LLVM LANGUAGES C CXX)\n"
                 "string(TOUPPER \"${CMAKE_BUILD_TYPE}\" uppercase_CMAKE_BUILD_TYPE)\n",
        BOTH[1]: ""}
TAIL = {BOTH[0]: "add_subdirectory(lib/Support)\nadd_executable(llvm-tool tool.cpp)\n"
                 "target_link_libraries(llvm-tool LLVMSupport)\n",
        BOTH[1]: "add_library(LLVMSupport support.cpp ${ALLOCATOR_FILES})\n"
                 "target_link_libraries(LLVMSupport PUBLIC ${delayload_flags})\n"}
TOOL = """#include <cstdio>
#include <string>
std::string support();
int main() { std::puts(support().c_str()); }
"""
SUPPORT = """#include <string>
std::string support() { return std::string(100, 'x'); }
"""
REFUSED = {"-DLLVM_USE_SANITIZER=Address": "along with LLVM_USE_SANITIZER!",
           "-DLLVM_INTEGRATED_CRT_ALLOC=/x": "along with LLVM_ENABLE_RPMALLOC or",
           "-DBUILD_SHARED_LIBS=ON": "along with BUILD_SHARED_LIBS,",
           "-DLLVM_LINK_LLVM_DYLIB=ON": "along with BUILD_SHARED_LIBS,"}
WINDOWS = ["cmake", "-S", "llvm", "-DLLVM_ENABLE_LOAM=ON",
           "-DCMAKE_SYSTEM_NAME=Windows", "-DCMAKE_C_COMPILER=x86_64-w64-mingw32-gcc-posix",
           "-DCMAKE_CXX_COMPILER=x86_64-w64-mingw32-g++-posix"]
CLANG_CL_TOOLS = {"LINKER": "lld-link", "AR": "llvm-lib", "MT": "llvm-mt"}
CLANG_CL = ["cmake", "-S", "llvm", "-B", "clang-cl-build", "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release",
            "-DLLVM_ENABLE_LOAM=ON", "-DCMAKE_SYSTEM_NAME=Windows",
            "-DCMAKE_TRY_COMPILE_TARGET_TYPE=STATIC_LIBRARY"]
DEBUG = (["-G", "Ninja", "-DCMAKE_BUILD_TYPE=Debug"], ["-G", "Ninja Multi-Config"])
NOT_DEBUG = (["-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release"],
             ["-G", "Ninja Multi-Config", "-DCMAKE_CONFIGURATION_TYPES=Release;MinSizeRel"])


def looked_for(text, name):
    """The lines that the patch does not add, of its one place in the file."""
    part = text.split(f"+++ b/{name}\n")[1].split("\n--- ")[0]
    lines = part.splitlines()[1:]
    expect(lines[:3] == ["   endif()", " endif()", " "], lines[:3])
    return "".join(line[1:] + "\n" for line in lines if line.startswith(" "))


def stand_in(folder, patch):
    with open(patch, encoding="utf-8") as file:
        text = file.read()
    for name in re.findall(r"^\+\+\+ b/(.*)$", text, re.M):
        os.makedirs(os.path.dirname(f"{folder}/{name}"), exist_ok=True)
        if name in BOTH:
            write(f"{folder}/{name}",
                  HEAD[name] + "if(TRUE)\n  if(TRUE)\n" + looked_for(text, name) + TAIL[name])
        else:
            part = text.split(f"+++ b/{name}\n")[1].split("\n--- ")[0]
            write(f"{folder}/{name}", "".join(
                line[1:] + "\n" for line in part.splitlines()[1:] if line.startswith(" ")))
    write(f"{folder}/llvm/tool.cpp", TOOL)
    write(f"{folder}/llvm/lib/Support/support.cpp", SUPPORT)


def check_configured(release, windows, folder, patch):
    stand_in(folder, patch)
    run("patch", "-p1", "--input", patch, folder=folder)
    configure = ["cmake", "-S", "llvm", "-B", "build", "-G", "Ninja", "-DLLVM_ENABLE_LOAM=ON"]
    release_build = [*configure, "-DCMAKE_BUILD_TYPE=Release"]
    said = run(*release_build, folder=folder, status=1)
    expect("Copy loam.c and loam.h" in " ".join(said.split()), said)
    os.mkdir(f"{folder}/llvm/lib/Support/loam")
    for name in ("loam.c", "loam.h"):
        shutil.copy(f"{release}/{name}", f"{folder}/llvm/lib/Support/loam")
    # What was found out about the compiler stays, but none of these options.
    without = ["-U" + option[2:].split("=")[0] for option in REFUSED]
    for option, words in REFUSED.items():
        said = run(*release_build, *without, option, folder=folder, status=1)
        expect(words in " ".join(said.split()), said)
    run(*configure, *without, "-DCMAKE_BUILD_TYPE=Debug", folder=folder)
    check_windows(folder)
    check_clang_cl(windows, folder)
    # The tools of 32 bit have loam inside as well.
    run(*release_build, "-DLLVM_BUILD_32_BITS=ON", folder=folder)


def check_windows(folder):
    """Debug is refused there, as with rpmalloc, also where it is one configuration of several."""
    if not shutil.which(WINDOWS[-1].split("=")[1]):
        return
    for number, (debug, not_debug) in enumerate(zip(DEBUG, NOT_DEBUG)):
        configure = [*WINDOWS, "-B", f"windows-{number}"]
        said = run(*configure, *debug, folder=folder, status=1)
        expect("The Debug target isn't supported along with LLVM_ENABLE_LOAM!" in said, said)
        run(*configure, *not_debug, folder=folder)


def check_clang_cl(windows, folder):
    """LLVMSupport has the object, and programs the static runtime; their links ask for malloc first."""
    if not all(map(shutil.which, ("clang", *CLANG_CL_TOOLS.values()))):
        return
    tools = [f"-DCMAKE_{tool}={shutil.which(name)}" for tool, name in CLANG_CL_TOOLS.items()]
    os.symlink(shutil.which("clang"), folder + "/clang-cl")
    for processor, target in (("x64", "x86_64"), ("arm64", "aarch64")):
        shutil.rmtree(folder + "/clang-cl-build", ignore_errors=True)
        configure = [*CLANG_CL, *tools, *(f"-DCMAKE_{language}_COMPILER{option}" for language in ("C", "CXX")
                                  for option in (f"={folder}/clang-cl", f"_TARGET={target}-pc-windows-msvc"))]
        said = run(*configure, folder=folder, status=1)
        expect(f"loam/loam-msvc-{processor}.obj. Copy" in " ".join(said.split()), said)
        shutil.copy(f"{windows}/loam-msvc-{processor}.obj", f"{folder}/llvm/lib/Support/loam")
        said = run(*configure, "-DCMAKE_MSVC_RUNTIME_LIBRARY=MultiThreadedDLL", folder=folder, status=1)
        expect("only works with CMAKE_MSVC_RUNTIME_LIBRARY set to MultiThreaded." in " ".join(said.split()), said)
        run(*configure, "-UCMAKE_MSVC_RUNTIME_LIBRARY", folder=folder)
        ask = ["ninja", "-C", "clang-cl-build", "-t"]
        said = run(*ask, "query", "lib/Support/LLVMSupport.lib", folder=folder)
        expect(f"/loam-msvc-{processor}.obj" in said, said)
        commands = run(*ask, "commands", "llvm-tool.exe", folder=folder).splitlines()
        compiles = [command for command in commands if " -c " in command]
        expect(len(compiles) == 2 and all(" -MT " in command for command in compiles), compiles)
        expect("LLVMSupport.lib" in commands[-1] and "-INCLUDE:malloc" in commands[-1], commands[-1])


def compile_soon(folder):
    """Without optimisation: how it is compiled is the patch's."""
    path = f"{folder}/{BOTH[1]}"
    with open(path, encoding="utf-8") as file:
        text = file.read()
    expect('"-O2;' in text, text)
    write(path, text.replace('"-O2;', '"-O0;'))


def check_built(folder, command):
    compile_soon(folder)
    run("cmake", "--build", "build", folder=folder)
    said = run("build/llvm-tool", folder=folder)
    expect(said == "x" * 100 + "\n", said)
    said = run(command, "verify", "build/llvm-tool", folder=folder)
    expect("all of it is loam's" in said, said)
    expect(said.splitlines()[-1] == f"loam: {folder}/build/llvm-tool", said)


def main(release, folder):
    for name in ("loam-*-ARCH-linux.tar.gz", "loam-*[0-9].tar.gz"):
        run("tar", "-xf", released(release, name), folder=folder)
    unpacked = released(folder, "loam-*-ARCH-linux")
    command = unpacked + "/bin/loam"
    patches = glob.glob(folder + "/loam-*/integrations/llvm/*.patch")
    booleans = [patch for patch in patches if "-14." not in patch]
    expect(len(booleans) >= 2, patches)
    for patch in booleans:
        tree = folder + "/" + os.path.basename(patch)
        os.mkdir(tree)
        check_configured(release, unpacked + "/windows", tree, patch)
    # All add the same to LLVMSupport.
    check_built(folder + "/loam-llvm-main.patch", command)


if __name__ == "__main__":
    walk(main)
