"""What the tests of vendoring share."""
import os
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.realpath(__file__)))))

# Followed by a module's name: runs one of tests/python-packages.txt, which run-all.sh installs.
PYTHON_MODULE = ("env", "PYTHONPATH=" + os.path.join(ROOT, "build", "python"), sys.executable, "-m")

# A block from malloc, one from loam_malloc; what is the first, loam's or the C library's?
API_PROGRAM = """
#include <loam.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef _WIN32
#include <malloc.h>
#define malloc_usable_size _msize
#else
#ifdef __cplusplus
extern "C"
#endif
size_t malloc_usable_size(void *block);
#endif
int main(void) {
  /* The first blocks of a process may be guarded, and no longer than was asked for. */
  for (int i = 0; i < 1000; i++) loam_free(loam_malloc(100));
  char *block = (char *)loam_malloc(100);
  if (block == NULL || loam_malloc_usable_size(block) != 112) return 1;
  strcpy(block, loam_version());
  printf("loam %s", block);
  loam_free(block);
  char *other = (char *)malloc(100); /* 112 in loam, 104 in glibc, 100 in msvcrt */
  printf(", malloc %s\\n", malloc_usable_size(other) == 112 ? "loam" : "other");
  free(other);
  return 0;
}
"""


def run(*command, folder=None, environment=None):
    """The finished process, with its output as text."""
    return subprocess.run(command, cwd=folder, env={**os.environ, **(environment or {})},
                          capture_output=True, text=True, check=False)


class VendoringTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="loam-vendoring-")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    @classmethod
    def shared_folder(cls):
        """One for what all tests of a class use, and none changes."""
        folder = tempfile.TemporaryDirectory(prefix="loam-vendoring-")
        cls.addClassCleanup(folder.cleanup)
        return folder.name

    def path(self, *names):
        return os.path.join(self.folder, *names)

    def write(self, name, text):
        path = self.path(name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def succeed(self, *command, **keywords):
        """Standard output of a command that must succeed without a word on standard error."""
        result = run(*command, **keywords)
        self.assertEqual((result.returncode, result.stderr), (0, ""),
                         f"{command}\n{result.stdout}")
        return result.stdout
