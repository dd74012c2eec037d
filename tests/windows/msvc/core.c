/* loam's own functions with Microsoft's ABI and without a C runtime: threads allocate, check what
 * they wrote, and free each other's blocks. What a C runtime would bring stands here. */
#include <loam/loam.h>
#include <windows.h>
/* After windows.h, which the first needs. */
#include "chkstk.h"
#include "tls.h"

/* ---- What the loader and the compiler ask for ---- */

void *memcpy(void *to, const void *from, size_t size) {
  for (size_t i = 0; i < size; i++) ((char *)to)[i] = ((const char *)from)[i];
  return to;
}

void *memset(void *to, int byte, size_t size) {
  for (size_t i = 0; i < size; i++) ((char *)to)[i] = (char)byte;
  return to;
}

static int error_number;
int *_errno(void) { return &error_number; }

size_t fwrite(const void *bytes, size_t size, size_t count, FILE *file) {
  (void)bytes, (void)size, (void)count, (void)file;
  return 0;
}

/* ---- The test ---- */

enum { THREADS = 4, SLOTS = 512, TURNS = 200000 };
static char *volatile slots[SLOTS];

static void check(int holds, UINT status) {
  if (!holds) ExitProcess(status);
}

static size_t size_of(unsigned random) { return 16 + random % (random % 64 ? 600 : 400000); }

/* The first bytes of a block hold its size, the last one repeats the lowest of them. */
static char *make(unsigned random) {
  size_t size = size_of(random);
  char *block = loam_malloc(size);
  check(block != NULL, 11);
  *(size_t *)(void *)block = size;
  block[size - 1] = (char)size;
  return block;
}

static void end(char *block) {
  if (block == NULL) return;
  size_t size = *(size_t *)(void *)block;
  check(block[size - 1] == (char)size, 12);
  check(loam_malloc_usable_size(block) >= size, 13);
  loam_free(block);
}

static DWORD WINAPI work(void *seed) {
  unsigned random = (unsigned)(ULONG_PTR)seed;
  for (int turn = 0; turn < TURNS; turn++) {
    random = random * 1664525u + 1013904223u;
    char *volatile *slot = &slots[random >> 8 & (SLOTS - 1)];
    end(InterlockedExchangePointer((void *volatile *)slot, make(random >> 4)));
  }
  return 0;
}

void start(void);
void start(void) {
  HANDLE threads[THREADS];
  for (int i = 0; i < THREADS; i++) {
    threads[i] = CreateThread(NULL, 0, work, (void *)(ULONG_PTR)(i + 1), 0, NULL);
    check(threads[i] != NULL, 14);
  }
  check(WaitForMultipleObjects(THREADS, threads, TRUE, 60000) == WAIT_OBJECT_0, 15);
  for (int i = 0; i < SLOTS; i++) end(slots[i]);
  char *large = loam_realloc(loam_calloc(1, 5000000), 9000000);
  check(large != NULL && large[4999999] == 0, 16);
  loam_free(large);
  ExitProcess(0);
}
