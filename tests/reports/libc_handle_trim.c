// builds: fast checking hardened linked
/* dask's workers and td-agent call malloc_trim by a handle of the C library (ctypes, Fiddle) to give
 * memory back: with another allocator that trims an empty heap. It does what a direct call does. */
#include "names.h"

#include <dlfcn.h>
#include <stdio.h>
#include <unistd.h>

#define COUNT 200000
static void *blocks[COUNT];

static long resident_kib(void) {
  long all, resident;
  FILE *file = fopen("/proc/self/statm", "r");
  CHECK(fscanf(file, "%ld %ld", &all, &resident) == 2);
  fclose(file);
  return resident * (sysconf(_SC_PAGESIZE) / 1024);
}

/* How many KiB go back. */
static long trimmed_kib(int (*trim)(size_t)) {
  for (int i = 0; i < COUNT; i++) memset(blocks[i] = malloc(1000), 1, 1000);
  for (int i = 0; i < COUNT; i++)
    if (i % 64 != 0) {
      free(blocks[i]);
      blocks[i] = NULL;
    }
  long before = resident_kib();
  trim(0);
  long gone = before - resident_kib();
  for (int i = 0; i < COUNT; i++) free(blocks[i]);
  malloc_trim(0);
  return gone;
}

int main(void) {
  void *libc = dlopen("libc.so.6", RTLD_NOW);
  if (libc == NULL) return 77;
  long direct = trimmed_kib(malloc_trim);
  long found = trimmed_kib((int (*)(size_t))dlsym(libc, "malloc_trim"));
  printf("%ld KiB directly, %ld KiB by a handle\n", direct, found);
  CHECK(direct > 0 && found > direct / 2);
  return 0;
}
