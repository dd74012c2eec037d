// timeout: 60
/* What is freed is decommitted after the delay, and what is used again is committed again and zero
 * where it must be: the commit charge follows use. */
#include "check.h"
#include <loam/loam.h>
#include <windows.h>

enum { COUNT = 20000 };
static char *blocks[COUNT];
static const size_t sizes[] = {100, 1500, 9000};
enum { SIZES = sizeof sizes / sizeof *sizes };

static size_t size_of(int i) { return sizes[i % SIZES]; }

/* Private memory of this process that counts against the system's limit. */
static size_t committed_bytes(void) {
  MEMORY_BASIC_INFORMATION info;
  size_t sum = 0;
  for (char *p = NULL; VirtualQuery(p, &info, sizeof info) == sizeof info;
       p = (char *)info.BaseAddress + info.RegionSize)
    if (info.State == MEM_COMMIT && info.Type == MEM_PRIVATE) sum += info.RegionSize;
  return sum;
}

/* Gives the sum of the sizes. */
static size_t take_all(void) {
  size_t sum = 0;
  for (int i = 0; i < COUNT; i++) {
    size_t size = size_of(i);
    sum += size;
    blocks[i] = i % 2 ? malloc(size) : calloc(1, size);
    CHECK(blocks[i] != NULL);
    if (i % 2 == 0) check_zero(blocks[i], size);
    memset(blocks[i], 1, size);
  }
  return sum;
}

static void free_all(void) {
  for (int i = 0; i < COUNT; i++) free(blocks[i]);
}

static void be_active(unsigned ms) {
  uint64_t random = 99;
  for (ULONGLONG end = GetTickCount64() + ms; GetTickCount64() < end; Sleep(5)) {
    void *some[50];
    for (int i = 0; i < 50; i++) some[i] = opaque(malloc(random_next(&random) % 20000));
    for (int i = 0; i < 50; i++) free(some[i]);
  }
}

static void charge_follows_use(void) {
  size_t before = committed_bytes();
  size_t used_bytes = take_all();
  CHECK_THAT(committed_bytes(), >=, used_bytes);
  CHECK_THAT(committed_bytes() - before, <, used_bytes * 12 / 10 + 4 * MIB);
  free_all();
  be_active(1000);
  CHECK_THAT(committed_bytes(), <, before + 6 * MIB);
}

int main(void) {
  free(malloc(1));
  for (int round = 0; round < 2; round++) charge_follows_use();
  return 0;
}
