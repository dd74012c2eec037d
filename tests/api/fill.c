/* The option fill: with `zero` all that can be used of a block from malloc is zero, of whatever size,
 * however often it has been used before, also what realloc adds; with `junk` it is 0xa5, and what is
 * freed is overwritten. calloc is calloc.
 *
 * Arguments: none, or the option's value, as the program starts itself anew. */
#include "execute_again.h"
#include "names.h"

#include <stdbool.h>

#include "threads.h"

enum { TAKEN = 0xa5, FREED = 0x5a, SMALL = 64 };
static int expected; /* in new blocks */

static bool is_filled(const void *block, size_t from, size_t to, int byte) {
  const unsigned char *bytes = block;
  if (from == to) return true;
  return bytes[from] == byte && memcmp(&bytes[from], &bytes[from + 1], to - from - 1) == 0;
}

static void check_new(void *block) {
  CHECK(block != NULL);
  size_t size = malloc_usable_size(block);
  CHECK(is_filled(block, 0, size, expected));
  memset(block, 0x11, size);
}

static const size_t sizes[] = {1, 24, 100, 1000, 1025, 5000, 20000, 100000, 300000, 3 << 20,
                               34 << 20};
enum { SIZES = sizeof sizes / sizeof *sizes, EACH = 20 };

static void check_sizes(void) {
  static __thread void *blocks[EACH];
  for (size_t i = 0; i < SIZES; i++) {
    int each = sizes[i] < 1 << 20 ? EACH : 1;
    for (int round = 0; round < 3; round++) {
      for (int j = 0; j < each; j++) check_new(blocks[j] = opaque(malloc(sizes[i])));
      for (int j = 0; j < each; j++) free(blocks[j]);
      char *cleared = opaque(calloc(1, sizes[i]));
      CHECK(is_filled(cleared, 0, sizes[i], 0));
      memset(cleared, 0x11, sizes[i]);
      free(cleared);
    }
    for (size_t alignment = 32; alignment <= 1 << 16; alignment *= 64) {
      check_new(blocks[0] = opaque(aligned_alloc(alignment, sizes[i])));
      free(blocks[0]);
    }
  }
}

/* Through all sizes, by half as much each time. */
static void check_growth(void) {
  size_t old = 0;
  char *block = NULL;
  for (size_t size = 1; size < 36 << 20; size += size / 2 + 1) {
    block = opaque(realloc(block, size));
    size_t usable = malloc_usable_size(block);
    CHECK(is_filled(block, 0, old, 0x11));
    CHECK(is_filled(block, old, usable, expected));
    memset(block, 0x11, usable);
    old = usable;
  }
  free(block);
}

static void check_freed(void *block, size_t size) {
  char *copy = opaque(block);
  memset(block, 0x11, size);
  free(block);
  /* Behind what links free blocks. */
  CHECK(is_filled(opaque(copy), 16, size, FREED));
}

static void *free_in_thread(void *block) {
  check_freed(block, SMALL);
  return NULL;
}

static void *check_in_thread(void *unused) {
  check_sizes();
  return unused;
}

static void check_all_freed(void) {
  void *kept = opaque(malloc(100000)); /* so that its chunk stays */
  check_freed(opaque(malloc(SMALL)), SMALL);
  check_freed(opaque(malloc(100000)), 100000);
  run_in_thread(free_in_thread, opaque(malloc(SMALL)));
  free(kept);
}

static void start_anew(const char *program, const char *fill) {
  char entry[64];
  /* No tick, which may give a page back that has just been freed, on a machine that is busy. */
  snprintf(entry, sizeof entry, "fill=%s,purge_delay_ms=3600000", fill);
  CHECK_EQ(setenv("LOAM_OPTIONS", entry, 1), 0);
  execute_again(program, fill, NULL);
  CHECK(!"started anew");
}

int main(int count, char **arguments) {
  const char *build = getenv("LOAM_TEST_BUILD");
  if (count == 1) start_anew(arguments[0], "zero");
  bool junk = strcmp(arguments[1], "junk") == 0;
  expected = junk ? TAKEN : 0;
  check_sizes();
  check_growth();
  run_in_thread(check_in_thread, NULL);
  run_in_thread(check_in_thread, NULL); /* with the heap of the one before */
  /* Checking and hardened builds have something of their own in what is freed. */
  bool own = build != NULL && (strcmp(build, "checking") == 0 || strcmp(build, "hardened") == 0);
  if (junk && !own) check_all_freed();
  if (!junk) start_anew(arguments[0], "junk");
  return 0;
}
