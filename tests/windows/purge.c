/* What is freed is decommitted after the delay, and what is used again is committed again and zero
 * where it must be: the commit charge follows use, and the statistics tell it. */
#include "check.h"
#include <loam/loam.h>
#include <windows.h>

enum { COUNT = 20000, HUGE_BYTES = 50 * 1024 * 1024 };
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

static size_t element(const char *text, const char *name) {
  const char *start = strstr(text, name);
  CHECK(start != NULL);
  return strtoull(start + strlen(name), NULL, 10);
}

/* What loam says of its memory is part of what the process has, and nearly all of it is in use. */
static void check_statistics(size_t *said_bytes) {
  static char text[16384];
  FILE *file = tmpfile();
  CHECK(file != NULL);
  CHECK_EQ(loam_malloc_info(0, file), 0);
  rewind(file);
  text[fread(text, 1, sizeof text - 1, file)] = 0;
  fclose(file);
  size_t resident_bytes = element(text, "<heap_resident_bytes>");
  *said_bytes = element(text, "<committed_bytes>");
  CHECK_THAT(*said_bytes, <=, committed_bytes());
  CHECK_THAT(resident_bytes, <=, *said_bytes);
  CHECK_THAT(*said_bytes, <=, resident_bytes * 11 / 10 + MIB);
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

/* For as long, and on a busy machine until it is as much work as a slow clock leaves room for. */
static void be_active(unsigned ms) {
  uint64_t random = 99;
  ULONGLONG end = GetTickCount64() + ms;
  for (int turns = (int)(ms / 20); turns > 0 || GetTickCount64() < end; turns--, Sleep(5)) {
    void *some[50];
    for (int i = 0; i < 50; i++) {
      size_t size = random_next(&random) % 20000;
      some[i] = memset(malloc(size), 1, size);
    }
    for (int i = 0; i < 50; i++) free(some[i]);
  }
}

static void charge_follows_use(void) {
  size_t before = committed_bytes(), said_bytes;
  size_t used_bytes = take_all();
  void *huge = memset(malloc(HUGE_BYTES), 1, HUGE_BYTES);
  check_statistics(&said_bytes);
  CHECK_THAT(said_bytes, >=, used_bytes + HUGE_BYTES);
  free(huge);
  CHECK_THAT(committed_bytes(), >=, used_bytes);
  CHECK_THAT(committed_bytes() - before, <, used_bytes * 12 / 10 + 4 * MIB);
  free_all();
  be_active(1000);
  CHECK_THAT(committed_bytes(), <, before + 6 * MIB);
  check_statistics(&said_bytes);
  CHECK_THAT(said_bytes, <, 8 * MIB);
}

int main(void) {
  free(malloc(1));
  for (int round = 0; round < 2; round++) charge_follows_use();
  return 0;
}
