#!/usr/bin/env python3
# label: long
"""The one C file compiled together with a program, by each compiler that is there and with the flags
that let it see both as one: fibers that one thread leaves between malloc and free, and another one
resumes, get the caches of the thread that they are on."""
import glob
import os
import re
import shutil
import sys
import unittest

from support import PYTHON_MODULE, ROOT, VendoringTest, run

# Fibers wait in one ring; whoever takes one out resumes it until it swaps back. What a compiler might
# keep across the swap, as it sees no other thread, is where the thread's variables are.
FIBERS = r"""
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>
enum { FIBERS = 64, THREADS = 4, STACK = 1 << 16, BLOCKS = 24 };
static struct fiber {
  ucontext_t context, *resumer;
  atomic_int busy;
  int rounds, number;
} fibers[FIBERS];
static atomic_int left = FIBERS;
static int wanted;
static void leave(struct fiber *fiber) { swapcontext(&fiber->context, fiber->resumer); }
static void take(struct fiber *fiber, unsigned char **blocks, int i) {
  size_t size = 16 + (size_t)(fiber->number * 37 + i * 101) % 900;
  if (blocks[i] == NULL) {
    blocks[i] = malloc(size);
    memset(blocks[i], fiber->number + i, size);
  } else {
    for (size_t at = 0; at < size; at++)
      if (blocks[i][at] != (unsigned char)(fiber->number + i)) abort();
    free(blocks[i]);
    blocks[i] = NULL;
  }
}
static void run_fiber(int number) {
  struct fiber *fiber = &fibers[number];
  unsigned char *blocks[BLOCKS] = {NULL};
  for (; fiber->rounds < wanted || blocks[0] != NULL; fiber->rounds++)
    for (int i = 0; i < BLOCKS; i++) {
      take(fiber, blocks, i);
      if (i % 3 == 0) leave(fiber);
    }
  atomic_fetch_sub(&left, 1);
  for (;;) leave(fiber);
}
static void *resume(void *first) {
  ucontext_t here;
  for (size_t i = (size_t)first; atomic_load(&left) > 0; i++) {
    struct fiber *fiber = &fibers[i % FIBERS];
    if (atomic_exchange(&fiber->busy, 1) != 0) continue;
    fiber->resumer = &here;
    swapcontext(&here, &fiber->context);
    atomic_store(&fiber->busy, 0);
  }
  return NULL;
}
int main(int count, char **arguments) {
  pthread_t threads[THREADS];
  wanted = count > 1 ? atoi(arguments[1]) : 2000;
  for (int i = 0; i < FIBERS; i++) {
    getcontext(&fibers[i].context);
    fibers[i].context.uc_stack.ss_sp = malloc(STACK);
    fibers[i].context.uc_stack.ss_size = STACK;
    fibers[i].number = i;
    makecontext(&fibers[i].context, (void (*)(void))run_fiber, 1, i);
  }
  for (size_t i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, resume, (void *)(i * 17));
  for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
  puts("done");
  return 0;
}
"""
FLAGS = {
    "one with the program": ("-O3", "-flto"),
    "no interposition": ("-O2", "-fPIE", "-fno-semantic-interposition", "-fno-plt"),
    "hidden": ("-O2", "-fvisibility=hidden"),
}
LLD = "-fuse-ld=lld"


def compilers():
    """GCC and clang of every version that is installed, by name."""
    found = {os.path.basename(path) for folder in os.environ["PATH"].split(":")
             for path in glob.glob(folder + "/gcc-[0-9]*") + glob.glob(folder + "/clang-[0-9]*")}
    return sorted(name for name in found if re.fullmatch(r"(gcc|clang)-\d+", name))


class Together(VendoringTest):
    def check(self, compiler, flags, emulator=()):
        source, program = self.write("fibers.c", FIBERS), self.path("fibers")
        made = run(*compiler, *flags, "-w", "-std=gnu11", "-I" + os.path.join(ROOT, "src"),
                   "-I" + os.path.join(ROOT, "include"), source,
                   os.path.join(ROOT, "src", "loam.c"), "-o", program, "-pthread")
        self.assertEqual(made.returncode, 0, made.stderr)
        rounds = "100" if emulator else "2000"
        result = run(*emulator, program, rounds)
        self.assertEqual((result.returncode, result.stdout), (0, "done\n"), result.stderr)

    def test_fibers(self):
        for compiler in compilers():
            for name, flags in FLAGS.items():
                with self.subTest(compiler, flags=name):
                    linker = (LLD,) if compiler.startswith("clang") and "-flto" in flags else ()
                    self.check((compiler,), (*flags, *linker))

    def test_fibers_by_zig(self):
        zig = (*PYTHON_MODULE, "ziglang", "cc")
        if run(*zig, "--version").returncode != 0:
            self.skipTest("there is no Zig")
        self.check(zig, ("-O3", "-flto", "-fno-sanitize=undefined"))

    def test_fibers_on_aarch64(self):
        """Where a register has the address of the thread's variables, and compilers keep it."""
        compiler = "aarch64-linux-gnu-gcc"
        if shutil.which(compiler) is None or shutil.which("qemu-aarch64") is None:
            self.skipTest("there is no compiler or no emulator for AArch64")
        self.check((compiler,), (*FLAGS["one with the program"], "-static"), ("qemu-aarch64",))


if __name__ == "__main__":
    sys.exit(unittest.main())
