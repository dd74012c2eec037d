"""The loam memory allocator: the command, and the libraries that it preloads."""
import os

_FOLDER = os.path.dirname(os.path.abspath(__file__))


def command():
    """The path of the command `loam`."""
    return os.path.join(_FOLDER, "bin", "loam")


def library():
    """The path of libloam.so, for LD_PRELOAD."""
    return os.path.join(_FOLDER, "lib", "libloam.so")
