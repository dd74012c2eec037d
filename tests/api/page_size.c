/* With page_size=2M blocks stand in pages of 2 MiB that have been set aside, as long as there are
 * any, and in ordinary ones from then on; so they do where there are none. The same of 1 GiB.
 *
 * Arguments: none, or the option's value, as the program starts itself anew. */
#include "execute_again.h"
#include "names.h"

#include <stdbool.h>

static long free_page_count(void) {
  char line[256];
  long count = 0;
  FILE *file = fopen("/proc/meminfo", "r");
  CHECK(file != NULL);
  while (fgets(line, sizeof line, file) != NULL) sscanf(line, "HugePages_Free: %ld", &count);
  fclose(file);
  return count;
}

/* How large the pages at the address are, in KiB. */
static unsigned page_kib(const void *address) {
  char line[4096];
  unsigned long start, end;
  unsigned kib = 0;
  bool within = false;
  FILE *file = fopen("/proc/self/smaps", "r");
  CHECK(file != NULL);
  while (kib == 0 && fgets(line, sizeof line, file) != NULL) {
    if (sscanf(line, "%lx-%lx ", &start, &end) == 2)
      within = start <= (uintptr_t)address && (uintptr_t)address < end;
    else if (within) sscanf(line, "KernelPageSize: %u", &kib);
  }
  fclose(file);
  return kib;
}

enum { BLOCKS = 12, BLOCK_BYTES = 20 << 20 };

static void check_blocks(bool explicit_first) {
  static char *blocks[BLOCKS];
  for (int i = 0; i < BLOCKS; i++) {
    CHECK((blocks[i] = opaque(malloc(i % 3 == 2 ? 2 * BLOCK_BYTES : BLOCK_BYTES))) != NULL);
    for (size_t at = 0; at < BLOCK_BYTES; at += 4096) blocks[i][at] = (char)(i + 1);
  }
  for (size_t size = 1; size < 1 << 20; size = size * 3 / 2 + 1)
    memset(opaque(malloc(size)), 1, size);
  if (explicit_first) CHECK_EQ(page_kib(blocks[0]), 2048);
  for (int i = 0; i < BLOCKS; i++) {
    CHECK((blocks[i] = opaque(realloc(blocks[i], 3 * BLOCK_BYTES))) != NULL);
    for (size_t at = 0; at < BLOCK_BYTES; at += 4096) CHECK_EQ(blocks[i][at], i + 1);
    free(blocks[i]);
  }
  char *cleared = opaque(calloc(1, BLOCK_BYTES));
  for (size_t at = 0; at < BLOCK_BYTES; at += 512) CHECK_EQ(cleared[at], 0);
  free(cleared);
}

static void start_anew(const char *program, const char *size) {
  char entry[64];
  snprintf(entry, sizeof entry, "page_size=%s", size);
  CHECK_EQ(setenv("LOAM_OPTIONS", entry, 1), 0);
  execute_again(program, size, NULL);
  CHECK(!"started anew");
}

int main(int count, char **arguments) {
  if (count == 1) start_anew(arguments[0], "2M");
  bool is_2M = strcmp(arguments[1], "2M") == 0;
  check_blocks(is_2M && free_page_count() >= 64);
  if (is_2M) start_anew(arguments[0], "1G");
  return 0;
}
