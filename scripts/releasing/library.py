"""The allocator for one processor, and loam's objects for all, by CMake."""
import os
import shlex
import shutil

from dist import ROOT, Failure
from releasing.process import output_of

FLAGS = "-DNDEBUG " + shlex.quote(f"-ffile-prefix-map={ROOT}=.")


def cmake_for(name, compiler, build, is_cross, *others):
    cross = ["-DCMAKE_SYSTEM_NAME=Linux", "-DCMAKE_SYSTEM_PROCESSOR=" + name] if is_cross else []
    output_of("cmake", "-S", ROOT, "-B", build + "/cmake", "-DCMAKE_BUILD_TYPE=Release",
              "-DCMAKE_C_FLAGS_RELEASE=" + FLAGS, "-DCMAKE_C_COMPILER=" + compiler, *cross, *others,
              what=f"the library for {name}")


def make(name, build, *targets):
    output_of("cmake", "--build", build + "/cmake", "--parallel", str(os.cpu_count()), *targets,
              what=f"the library for {name}")


def optimized(is_soon):
    return "-DLOAM_OPTIMIZE=" + ("OFF" if is_soon else "ON")


def configure(processor, build, prefix, library_folder, *others):
    """Only what is installed depends on the two: nothing is compiled again for others."""
    cmake_for(processor.name, processor.c_compiler(), build, not processor.is_this_machine,
              "-DCMAKE_INSTALL_PREFIX=" + prefix, "-DCMAKE_INSTALL_LIBDIR=" + library_folder, *others)


def compile_library(processor, build, is_soon):
    """BUILD/lib/libloam.so and all that stands beside it."""
    configure(processor, build, "/usr/local", "lib", optimized(is_soon))
    make(processor.name, build)
    return build + "/lib/libloam.so"


def compile_twins(processor, build, is_soon):
    """BUILD/lib/loam/i386/libloam.so and its like, for programs of 32 bits. Its path."""
    twin, place, folder = processor.twin, build + "/twin", f"{build}/lib/loam/{processor.twin.name}"
    cmake_for(twin.name, ";".join(twin.c_compiler()), place, True, "-DCMAKE_C_COMPILER_WORKS=TRUE",
              "-DCMAKE_SHARED_LINKER_FLAGS=-s", optimized(is_soon))
    make(twin.name, place, "--target", "loam_shared", "loam-checking_shared")
    os.makedirs(folder, exist_ok=True)
    for name in ("libloam.so", "libloam-checking.so"):
        shutil.copy(f"{place}/lib/{name}", folder)
    return folder + "/libloam.so"


def install(build, root):
    output_of("cmake", "--install", build + "/cmake", environment={"DESTDIR": root})


def compile_objects(folder, build):
    """Of every processor, or none is released."""
    os.makedirs(folder, exist_ok=True)
    said = output_of("scripts/objects.sh", folder, build, what="loam's objects")
    missing = [line.removeprefix("objects: ") for line in said.splitlines() if ": no loam-" in line]
    if missing:
        raise Failure(missing[0])
