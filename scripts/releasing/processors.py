"""The processors that releases are made for, and what each is called where."""
import platform
import shutil
from dataclasses import dataclass

from dist import Failure


@dataclass(frozen=True)
class Processor:
    name: str      # as `uname -m` says
    debian: str    # in names of packages
    compiler: str  # the cross compiler, and the package that brings it
    package: str

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
        """For CMake."""
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


ALL = {processor.name: processor for processor in (
    Processor("x86_64", "amd64", "x86_64-linux-gnu-gcc", "gcc-x86-64-linux-gnu"),
    Processor("aarch64", "arm64", "aarch64-linux-gnu-gcc", "gcc-aarch64-linux-gnu"))}
