/* With huge_pages=on the system is asked for huge pages in regions, also in those of before the
 * options were known, and in huge blocks, also where they have grown; never in memory of a page
 * provider's. Without the option it is not asked at all, and the regions of a program with little
 * in use refuse them, where the system gives them to everybody.
 *
 * Arguments: none, or `on` if LOAM_OPTIONS has it, as the program starts itself anew. */
#include "provider.h"

/* Nearly as large as a block in a region can be, of which none holds three; and a smaller one. */
#define LARGE_BYTES (sizeof(void *) == 8 ? 30 * MIB : 3 * MIB)
#define LITTLE_BYTES (sizeof(void *) == 8 ? 10 * MIB : MIB)
#define BLOCKS (sizeof(void *) == 8 ? 3 : 25) /* together no longer little */

static void *early; /* of before the C library has its environment */
static void allocate_early(void) { early = opaque(malloc(8000)); }
__attribute__((section(".preinit_array"), used)) static void (*preinit)(void) = allocate_early;

/* Whether the flags of the address's mapping, in proc_pid_smaps(5), have this one: "hg" if it shall
 * have huge pages, "nh" if it shall not. */
static int has_flag(const void *address, const char *flag) {
  char line[4096];
  unsigned long start, end;
  int within = 0, found = -1;
  FILE *file = fopen("/proc/self/smaps", "r");
  CHECK(file != NULL);
  while (found < 0 && fgets(line, sizeof line, file) != NULL) {
    if (sscanf(line, "%lx-%lx ", &start, &end) == 2)
      within = start <= (uintptr_t)address && (uintptr_t)address < end;
    else if (within && strncmp(line, "VmFlags:", 8) == 0)
      found = strstr(line, flag) != NULL;
  }
  fclose(file);
  CHECK(found >= 0);
  return found;
}

static int is_advised(const void *address) { return has_flag(address, " hg"); }
static int refuses(const void *address) { return has_flag(address, " nh"); }

/* Whether the system gives huge pages to everybody. */
static int system_gives_them(void) {
  char setting[8] = "";
  FILE *file = fopen("/sys/kernel/mm/transparent_hugepage/enabled", "r");
  CHECK(file != NULL && fgets(setting, sizeof setting, file) != NULL);
  fclose(file);
  return strncmp(setting, "[always", 7) == 0;
}

static void check_regions_with_option(void) {
  char *blocks[3]; /* which no region has room for together */
  CHECK(is_advised(early));
  for (size_t i = 0; i < 3; i++) {
    blocks[i] = opaque(malloc(LARGE_BYTES));
    CHECK(is_advised(blocks[i]) && is_advised(blocks[i] + LARGE_BYTES - 1));
  }
  for (size_t i = 0; i < 3; i++) free(blocks[i]);
}

static void check_regions_without(void) {
  char *blocks[BLOCKS], *last;
  CHECK(refuses(early));
  blocks[0] = opaque(malloc(LITTLE_BYTES));
  CHECK(refuses(early) && refuses(blocks[0])); /* it is little yet */
  for (size_t i = 1; i < BLOCKS; i++) blocks[i] = opaque(malloc(LARGE_BYTES));
  last = blocks[BLOCKS - 1];
  CHECK_EQ(refuses(early), !system_gives_them());
  CHECK_EQ(is_advised(early), system_gives_them());
  CHECK(!refuses(last) && !is_advised(last)); /* a region of later: as the system likes */
  for (size_t i = 0; i < BLOCKS; i++) free(blocks[i]);
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
  if (on) check_regions_with_option();
  else check_regions_without();
  check_huge_block(on);
  check_providers_memory();
  if (on) return 0;
  CHECK_EQ(setenv("LOAM_OPTIONS", "huge_pages=on", 1), 0);
  execl("/proc/self/exe", arguments[0], "on", NULL);
  CHECK(!"started anew");
  return 1;
}
