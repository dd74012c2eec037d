/* The option huge_pages: whether regions and huge blocks are asked huge pages for, or refuse them, or
 * have what the system gives; also in regions of before the options were known, and in huge blocks
 * that have grown; never in memory of a page provider's. Regions of a program with little in use
 * refuse them unless it is `always`.
 *
 * Arguments: none, or the option's value, as the program starts itself anew. */
#include "execute_again.h"
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

enum option { OFF, SYSTEM, MADVISE, ALWAYS };
static const char *const names[] = {"off", "system", "madvise", "always"};

/* Regions before and after much is in use: blocks that no region has room for together. */
static void check_regions(enum option option) {
  char *blocks[BLOCKS], *last;
  CHECK_EQ(is_advised(early), option == ALWAYS);
  CHECK_EQ(refuses(early), option != ALWAYS);
  blocks[0] = opaque(malloc(LITTLE_BYTES));
  CHECK_EQ(refuses(blocks[0]), option != ALWAYS); /* it is little yet */
  for (size_t i = 1; i < BLOCKS; i++) blocks[i] = opaque(malloc(LARGE_BYTES));
  last = blocks[BLOCKS - 1];
  int asks = option == ALWAYS || option == MADVISE;
  CHECK_EQ(is_advised(early), asks || (option == SYSTEM && system_gives_them()));
  CHECK_EQ(refuses(early), option == OFF || (option == SYSTEM && !system_gives_them()));
  CHECK_EQ(is_advised(last), asks); /* a region of later */
  CHECK_EQ(refuses(last), option == OFF);
  for (size_t i = 0; i < BLOCKS; i++) free(blocks[i]);
}

static void check_huge_block(enum option option) {
  char *block = NULL;
  for (size_t size = 40 * MIB; size < 400 * MIB; size *= 3) {
    block = opaque(realloc(block, size));
    CHECK(block != NULL);
    for (size_t at = 0; at < size; at += size - 1) {
      CHECK_EQ(is_advised(block + at), option == ALWAYS || option == MADVISE);
      CHECK_EQ(refuses(block + at), option == OFF);
    }
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

static void start_anew(const char *program, enum option option) {
  char entry[64];
  snprintf(entry, sizeof entry, "huge_pages=%s", names[option]);
  CHECK_EQ(setenv("LOAM_OPTIONS", entry, 1), 0);
  execute_again(program, names[option], NULL);
  CHECK(!"started anew");
}

int main(int count, char **arguments) {
  enum option option = count > 1 ? OFF : SYSTEM;
  if (access("/sys/kernel/mm/transparent_hugepage", F_OK) != 0) {
    printf("skipped: the system has no transparent huge pages\n");
    return 77;
  }
  while (count > 1 && strcmp(arguments[1], names[option]) != 0) option++;
  check_regions(option);
  check_huge_block(option);
  check_providers_memory();
  if (count == 1) start_anew(arguments[0], OFF);
  if (option == OFF) start_anew(arguments[0], MADVISE);
  if (option == MADVISE) start_anew(arguments[0], ALWAYS);
  return 0;
}
