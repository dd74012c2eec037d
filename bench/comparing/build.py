"""Compiles the benchmark programs and the tools around them, if they changed."""
import os
import subprocess

from . import paths


class BuildError(Exception):
    """A program does not compile."""


def everything():
    """Builds all programs; gives the folder that they are in."""
    paths.BUILT.mkdir(parents=True, exist_ok=True)
    for folder in ("programs", "tools"):
        headers = list((paths.BENCH / folder).glob("*.h"))
        for source in sorted((paths.BENCH / folder).glob("*.c")):
            compile_one(source, headers)
    return paths.BUILT


def compile_one(source, headers):
    """One source file to one program of the same name."""
    target = paths.BUILT / source.stem
    newest = max(path.stat().st_mtime for path in [source, *headers])
    if target.exists() and target.stat().st_mtime > newest:
        return
    # The compiler must not remove a malloc whose block is not used, as it may.
    command = [os.environ.get("CC", "cc"), "-O2", "-g", "-fno-builtin-malloc", "-fno-builtin-free",
               "-pthread", "-no-pie", str(source), "-o", str(target), "-ldl"]
    try:
        done = subprocess.run(command, capture_output=True, text=True)
    except FileNotFoundError:
        raise BuildError(f"no C compiler: {command[0]}") from None
    if done.returncode:
        raise BuildError(f"{source.name} does not compile:\n{done.stderr}")
