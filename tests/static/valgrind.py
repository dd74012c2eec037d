#!/usr/bin/env python3
"""Every function of the malloc family under Valgrind's memcheck, which replaces most of them and
knows nothing of the others: loam preloaded, and linked into the program.

    valgrind.py WORK LOAM.O LIBRARY...
"""
import os
import shutil
import subprocess
import sys
from functools import partial

from run import output, run_checks

C_PROGRAM = r"""
#include <dlfcn.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static void *find(const char *name) { return dlsym(RTLD_DEFAULT, name); }
static void use(void *block) {
  if (block == NULL) abort();
  memset(block, 1, 100);
  free(block);
}
int main(void) {
  void *(*take)(size_t, size_t), (*give)(void *, size_t, size_t), *block;
  use(malloc(100));
  use(calloc(10, 10));
  use(realloc(NULL, 100));
  use(realloc(malloc(10), 100));
  use(reallocarray(NULL, 10, 10));
  use(reallocarray(malloc(10), 10, 10));
  use(reallocarray(calloc(500, 10), 10, 10));
  if (reallocarray(malloc(10), 0, 10) != NULL) abort();
  use(aligned_alloc(64, 128));
  use(memalign(64, 100));
  use(valloc(100));
  use(pvalloc(100));
  if (posix_memalign(&block, 64, 100) != 0) abort();
  use(block);
  const char *takers[] = {"__libc_malloc", "__libc_valloc", "__libc_pvalloc", "__libc_memalign",
                          "__libc_calloc"};
  for (int i = 0; i < 5; i++)
    if ((take = (void *(*)(size_t, size_t))find(takers[i])) != NULL) use(take(128, 128));
  const char *givers[] = {"free_sized", "__libc_free"};
  for (int i = 0; i < 2; i++)
    if ((give = (void (*)(void *, size_t, size_t))find(givers[i])) != NULL)
      give(malloc(100), 100, 0);
  if ((give = (void (*)(void *, size_t, size_t))find("free_aligned_sized")) != NULL)
    give(aligned_alloc(64, 128), 64, 128);
  void *(*resize)(void *, size_t, size_t) = (void *(*)(void *, size_t, size_t))find("__libc_realloc");
  if (resize != NULL) use(resize(malloc(10), 100, 0));
  resize = (void *(*)(void *, size_t, size_t))find("__libc_reallocarray");
  if (resize != NULL) use(resize(malloc(10), 10, 10));
  char *text;
  if (asprintf(&text, "%0100d", 5) != 100) abort();
  use(text);
  block = malloc(100);
  if (malloc_usable_size(block) < 100) abort();
  free(block);
  malloc_trim(0);
  mallinfo2();
  puts("done");
  return 0;
}
"""
CXX_PROGRAM = r"""
#include <cstdio>
#include <new>
#include <string>
#include <vector>
int main() {
  std::align_val_t align{64};
  operator delete(operator new(100));
  operator delete(operator new(100), 100);
  operator delete[](operator new[](100));
  operator delete[](operator new[](100), 100);
  operator delete(operator new(100, std::nothrow), std::nothrow);
  operator delete[](operator new[](100, std::nothrow), std::nothrow);
  operator delete(operator new(128, align), align);
  operator delete(operator new(128, align), 128, align);
  operator delete[](operator new[](128, align), align);
  operator delete[](operator new[](128, align), 128, align);
  operator delete(operator new(128, align, std::nothrow), align, std::nothrow);
  operator delete[](operator new[](128, align, std::nothrow), align, std::nothrow);
  std::vector<std::string> texts(100, std::string(100, 'x'));
  texts.resize(1000);
  std::puts("done");
}
"""
MEMCHECK = ["valgrind", "--quiet", "--error-exitcode=99"]


def compiled(work, name, compiler, text, first):
    source = os.path.join(work, "program." + ("c" if compiler == "gcc" else "cpp"))
    program = os.path.join(work, name)
    with open(source, "w", encoding="utf-8") as file:
        file.write(text)
    output([compiler, "-g", "-w", "-D_GNU_SOURCE", "-fno-builtin", *first, source, "-o", program])
    return program


def is_clean(program, preload):
    result = subprocess.run([*MEMCHECK, program], capture_output=True, text=True, timeout=300,
                            env={**os.environ, "LD_PRELOAD": preload})
    if result.returncode != 0 or result.stdout != "done\n" or result.stderr != "":
        raise RuntimeError(f"{program}: status {result.returncode}\n{result.stderr}")


def checks(work, loam_object, libraries):
    for compiler, text in (("gcc", C_PROGRAM), ("g++", CXX_PROGRAM)):
        program = compiled(work, compiler + "-preloaded", compiler, text, [])
        for library in libraries:
            yield f"{compiler}, {os.path.basename(library)}", partial(is_clean, program, library)
        linked = compiled(work, compiler + "-linked", compiler, text, [loam_object])
        yield f"{compiler}, linked", partial(is_clean, linked, "")


def main():
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    if shutil.which("valgrind") is None:
        print("skipped: there is no valgrind")
        return 77
    os.makedirs(sys.argv[1], exist_ok=True)
    return run_checks(checks(sys.argv[1], sys.argv[2], sys.argv[3:]), sys.argv[1])


if __name__ == "__main__":
    sys.exit(main())
