"""The folder windows/ of a release: what programs of MSVC take to run on loam."""
import os
import shutil

from dist import Failure
from releasing.process import output_of

TOOLS = ("x86_64-w64-mingw32-gcc", "clang", "lld-link")

README = """loam for programs of MSVC and clang-cl on 64-bit Windows. Tried under wine only.

A program on the runtime's DLLs (/MD) runs on loam as it is:

    loam-run.exe program.exe arguments
    loam-run.exe --verify program.exe arguments

The second says for each of its modules which functions lead to loam, and ends with 1 if one does not;
--children takes along what the program starts. loam-redirect.dll stands beside loam-run.exe.

Without the launcher, as the program's first import, with loam-redirect.dll beside the program:

    include(C:/loam/windows/loam-redirect.cmake)                        in CMake: then
    loam_redirect(program)
    link /INCLUDE:__imp_loam_redirect loam-redirect.lib program.obj     by hand, or lld-link

A program with the runtime inside (/MT) links loam's object before everything:

    link loam-msvc-x64.obj program.obj                                  or loam-msvc-arm64.obj

try-windows.cmd is for who has a real Windows: it tries all of this and says what came of it.
share/doc/loam/docs/windows.md has the rest: what is replaced, what cannot be, and what has been run.
"""


def check_tools():
    missing = [tool for tool in TOOLS if shutil.which(tool) is None]
    if missing:
        raise Failure(f"what a release has for Windows takes {', '.join(missing)}")


def compile_folder(folder, is_soon):
    """Built once, for x86-64 and for AArch64 what there is."""
    output_of("scripts/windows.sh", folder, *(["-O0"] if is_soon else []), what="the folder for Windows")
    with open(os.path.join(folder, "README.txt"), "w", encoding="utf-8", newline="\r\n") as file:
        file.write(README)
    return folder
