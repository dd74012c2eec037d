// timeout: 60
/* What is freed is decommitted after the delay, and what is used again is committed again and zero
 * where it must be: the commit charge follows use. */
#include "check.h"
#include <loam/loam.h>
#include <windows.h>

enum { COUNT = 20000 };
static char *blocks[COUNT];

/* Private memory of this process that counts against the system's limit. */
static size_t committed_bytes(void) {
  MEMORY_BASIC_INFORMATION info;
  size_t sum = 0;
  for (char *p = NULL; VirtualQuery(p, &info, sizeof info) == sizeof info;
       p = (char *)info.BaseAddress + info.RegionSize)
    if (info.State == MEM_COMMIT && info.Type == MEM_PRIVATE) sum += info.RegionSize;
  return sum;
}

static void take_all(size_t size) {
  for (int i = 0; i < COUNT; i++) {
    blocks[i] = i % 2 ? malloc(size) : calloc(1, size);
    CHECK(blocks[i] != NULL);
    if (i % 2 == 0) check_zero(blocks[i], size);
    memset(blocks[i], 1, size);
  }
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

static void charge_follows_use(size_t size) {
  size_t before = committed_bytes();
  take_all(size);
  CHECK_THAT(committed_bytes(), >=, (size_t)COUNT * size);
  CHECK_THAT(committed_bytes() - before, <, (size_t)COUNT * size * 12 / 10 + 4 * MIB);
  free_all();
  be_active(1500);
  CHECK_THAT(committed_bytes(), <, before + 6 * MIB);
}

int main(void) {
  free(malloc(1));
  const size_t sizes[] = {100, 1500, 9000};
  for (int round = 0; round < 2; round++)
    for (int i = 0; i < 3; i++) charge_follows_use(sizes[i]);
  return 0;
}
