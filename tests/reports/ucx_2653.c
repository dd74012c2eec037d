// builds: fast checking hardened linked
// environment: LOAM_OPTIONS=libc_calls=on
/* A cache of memory that is registered for RDMA must learn which ranges go: UCX 2653, libfabric, Open
 * MPI. It patches munmap, madvise and mremap of the C library, as here: each address that malloc had
 * given out and that is not resident afterwards, or not there, has been in a range that passed them. */
#include "check.h"

#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#if !defined(__x86_64__)
int main(void) { return 77; }
#else

enum { RANGES = 1 << 16, BLOCKS = 64 };
static struct {
  uintptr_t start, end;
} told[RANGES];
static volatile size_t told_count;

static void tell(void *address, size_t size) {
  CHECK_THAT(told_count, <, RANGES);
  told[told_count].start = (uintptr_t)address;
  told[told_count++].end = (uintptr_t)address + size;
}

static int told_munmap(void *address, size_t size) {
  tell(address, size);
  errno = EBUSY; /* a program that asks for errno after free must not see what others do with it */
  return (int)syscall(SYS_munmap, address, size);
}
static int told_madvise(void *address, size_t size, int advice) {
  if (advice == MADV_DONTNEED) tell(address, size);
  return (int)syscall(SYS_madvise, address, size, advice);
}
static void *told_mremap(void *address, size_t size, size_t new_size, int flags) {
  tell(address, size);
  return (void *)syscall(SYS_mremap, address, size, new_size, flags);
}

/* A jump over the function's first bytes. */
static void patch(const char *name, uintptr_t target) {
  unsigned char *function = dlsym(dlopen("libc.so.6", RTLD_NOW), name);
  unsigned char code[12] = {0x48, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xe0};
  memcpy(code + 2, &target, sizeof target);
  void *page = (void *)((uintptr_t)function & -4096UL);
  if (mprotect(page, 8192, PROT_READ | PROT_WRITE | PROT_EXEC) != 0) exit(77);
  memcpy(function, code, sizeof code);
}

static int is_gone(const char *address) {
  unsigned char resident = 0;
  void *page = (void *)((uintptr_t)address & -4096UL);
  return syscall(SYS_mincore, page, 4096, &resident) != 0 || !(resident & 1);
}

static int was_told(const char *address) {
  for (size_t i = 0; i < told_count; i++)
    if ((uintptr_t)address >= told[i].start && (uintptr_t)address < told[i].end) return 1;
  return 0;
}

static size_t gone_count;

static void check_pages(char *const blocks[], int count, size_t size) {
  for (int i = 0; i < count; i++)
    for (size_t at = 0; at < size; at += 4096)
      if (is_gone(blocks[i] + at)) {
        gone_count++;
        CHECK(was_told(blocks[i] + at));
      }
}

static void take_and_free(size_t size) {
  char *blocks[BLOCKS];
  int count = size < 1 << 20 ? BLOCKS : 3;
  for (int i = 0; i < count; i++) blocks[i] = memset(malloc(size), 1, size);
  errno = 0;
  for (int i = 0; i < count; i++) free(blocks[i]);
  malloc_trim(0);
  CHECK_EQ(errno, 0);
  check_pages(blocks, count, size);
  told_count = 0;
}

/* Each place that the block has been in is gone, or is the block's. */
static void grow(void) {
  char *places[BLOCKS], *block = malloc(1 << 20);
  size_t sizes[BLOCKS], size = 1 << 20;
  for (int i = 0; i < BLOCKS; i++, size += size / 8) {
    places[i] = block;
    sizes[i] = size;
    memset(block, 1, size);
    block = opaque(realloc(block, size + size / 8));
    CHECK(block != NULL);
    if (size > ((size_t)64 << 20)) size = 1 << 20;
  }
  free(block);
  malloc_trim(0);
  for (int i = 0; i < BLOCKS; i++)
    for (size_t at = 0; at < sizes[i]; at += 4096)
      if (is_gone(places[i] + at)) CHECK(was_told(places[i] + at));
}

int main(void) {
  patch("munmap", (uintptr_t)told_munmap);
  patch("madvise", (uintptr_t)told_madvise);
  patch("mremap", (uintptr_t)told_mremap);
  static const size_t sizes[] = {5000, 100000, 3 << 20, 40 << 20};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) take_and_free(sizes[i]);
  CHECK_THAT(gone_count, >, 1000);
  grow();
  return 0;
}
#endif
