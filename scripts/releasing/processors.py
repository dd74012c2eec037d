"""The processors that releases are made for, and what each is called where."""
import os
import platform
import shutil
import subprocess
from dataclasses import dataclass

from dist import Failure


@dataclass(frozen=True)
class Twin:
    """The same processor with words of 32 bits."""
    name: str      # of its folder
    compiler: str  # the cross compiler, and the packages that bring it
    package: str
    native: tuple = () # the compiler of the processor with 64 bits, where that makes both

    def c_compiler(self):
        """The words of the command."""
        if shutil.which(self.compiler):
            return [self.compiler]
        if self.native and compiles(self.native):
            return list(self.native)
        raise Failure(f"no compiler {self.compiler} for libraries of 32 bits (Debian: {self.package})")


@dataclass(frozen=True)
class Processor:
    name: str      # as `uname -m` says
    debian: str    # in names of packages
    compiler: str  # the cross compiler, and the package that brings it
    package: str
    twin: Twin

    @property
    def is_this_machine(self):
        return self.name == platform.machine()

    @property
    def rust_target(self):
        return f"{self.name}-unknown-linux-musl"

    @property
    def zig_target(self):
        return f"{self.name}-linux-musl"

    @property
    def multiarch(self):
        return f"{self.name}-linux-gnu"

    def c_compiler(self):
        if self.is_this_machine:
            return "cc"
        if shutil.which(self.compiler) is None:
            raise Failure(f"no compiler {self.compiler} for {self.name} (Debian: {self.package})")
        return self.compiler

    def runner(self):
        """What a program of this processor is started with here."""
        if self.is_this_machine:
            return []
        emulator = "qemu-" + self.name
        if shutil.which(emulator) is None:
            raise Failure(f"no {emulator} to run programs for {self.name} (Debian: qemu-user)")
        return [emulator]


def compiles(command):
    """Whether it has the C library's headers."""
    result = subprocess.run([*command, "-x", "c", "-c", "-", "-o", os.devnull], capture_output=True,
                            input=b"#include <stdlib.h>\n", check=False)
    return result.returncode == 0


ALL = {processor.name: processor for processor in (
    Processor("x86_64", "amd64", "x86_64-linux-gnu-gcc", "gcc-x86-64-linux-gnu",
              Twin("i386", "i686-linux-gnu-gcc", "gcc-i686-linux-gnu libc6-dev-i386-cross",
                   ("gcc", "-m32", "-idirafter", "/usr/include/x86_64-linux-gnu"))),
    Processor("aarch64", "arm64", "aarch64-linux-gnu-gcc", "gcc-aarch64-linux-gnu",
              Twin("armhf", "arm-linux-gnueabihf-gcc",
                   "gcc-arm-linux-gnueabihf libc6-dev-armhf-cross")))}
