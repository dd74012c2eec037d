/* With huge_pages=on the system is asked for huge pages in regions, also in those of before the
 * options were known, and in huge blocks, also where they have grown; never in memory of a page
 * provider's. Without the option it is not asked at all.
 *
 * Arguments: none, or `on` if LOAM_OPTIONS has it, as the program starts itself anew. */
#include "provider.h"

static void *early; /* of before the C library has its environment */
static void allocate_early(void) { early = opaque(malloc(1000)); }
__attribute__((section(".preinit_array"), used)) static void (*preinit)(void) = allocate_early;

/* Whether the mapping of the address is marked as one that shall have huge pages: "hg" among the
 * flags of proc_pid_smaps(5). */
static int is_advised(const void *address) {
  char line[4096];
  unsigned long start, end;
  int within = 0, advised = -1;
  FILE *file = fopen("/proc/self/smaps", "r");
  CHECK(file != NULL);
  while (advised < 0 && fgets(line, sizeof line, file) != NULL) {
    if (sscanf(line, "%lx-%lx ", &start, &end) == 2)
      within = start <= (uintptr_t)address && (uintptr_t)address < end;
    else if (within && strncmp(line, "VmFlags:", 8) == 0)
      advised = strstr(line, " hg") != NULL;
  }
  fclose(file);
  CHECK(advised >= 0);
  return advised;
}

static void check_regions(int on) {
  char *blocks[3]; /* which no region has room for together */
  CHECK_EQ(is_advised(early), on);
  for (size_t i = 0; i < 3; i++) {
    blocks[i] = opaque(malloc(30 * MIB));
    CHECK_EQ(is_advised(blocks[i]), on);
    CHECK_EQ(is_advised(blocks[i] + 30 * MIB - 1), on);
  }
  for (size_t i = 0; i < 3; i++) free(blocks[i]);
}

static void check_huge_block(int on) {
  char *block = NULL;
  for (size_t size = 40 * MIB; size < 400 * MIB; size *= 3) {
    block = opaque(realloc(block, size));
    CHECK(block != NULL);
    CHECK_EQ(is_advised(block), on);
    CHECK_EQ(is_advised(block + size - 1), on);
  }
  free(block);
}

static void check_providers_memory(void) {
  static struct strict strict;
  strict_start(&strict);
  struct loam_heap *heap = strict_heap(&strict);
  CHECK(!is_advised(loam_heap_malloc(heap, 1000)));
  CHECK(!is_advised(loam_heap_malloc(heap, 40 * MIB)));
  loam_heap_destroy(heap);
}

int main(int count, char **arguments) {
  int on = count > 1;
  if (access("/sys/kernel/mm/transparent_hugepage", F_OK) != 0) {
    printf("skipped: the system has no transparent huge pages\n");
    return 77;
  }
  check_regions(on);
  check_huge_block(on);
  check_providers_memory();
  if (on) return 0;
  CHECK_EQ(setenv("LOAM_OPTIONS", "huge_pages=on", 1), 0);
  execl("/proc/self/exe", arguments[0], "on", NULL);
  CHECK(!"started anew");
  return 1;
}
