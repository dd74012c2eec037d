// windows: yes
/* Empty memory of a heap with a page provider goes back to it: by the clock, though nobody calls
 * anything of that heap, and when malloc_trim asks; not without a purge callback. */
#include "provider.h"
#include "slow_path.h"

enum { LARGE = 20, SMALL = 20000, MIDDLE = 100 };
static struct strict strict;
static struct loam_heap *heap;
static void *blocks[LARGE + SMALL + MIDDLE];

static void allocate(void) {
  size_t n = 0;
  for (int i = 0; i < LARGE; i++) blocks[n++] = opaque(loam_heap_malloc(heap, 700000));
  for (int i = 0; i < SMALL; i++) blocks[n++] = opaque(loam_heap_malloc(heap, 1000));
  for (int i = 0; i < MIDDLE; i++) blocks[n++] = opaque(loam_heap_malloc(heap, 100000));
  for (size_t i = 0; i < n; i++) memset(blocks[i], 1, malloc_usable_size(blocks[i]));
}

static void free_everything(void) {
  for (size_t i = 0; i < LARGE + SMALL + MIDDLE; i++) free(blocks[i]);
}

static void by_the_clock(void) {
  heap = strict_heap(&strict);
  allocate();
  CHECK_THAT(strict.committed_bytes, >, 40 * MIB);
  size_t calls = (size_t)strict.call_count;
  be_active(1);
  CHECK_THAT(strict.call_count - calls, <, 20); /* nothing to give back */
  free_everything();
  be_active(1.5);
  CHECK_THAT(strict.committed_bytes, <, 12 * MIB); /* chunks and current spans are the heap's */
  CHECK_THAT(strict.purged_bytes, >, 25 * MIB);
  for (size_t i = 0; i < LARGE; i++) blocks[i] = opaque(loam_heap_calloc(heap, 1, 700000));
  for (size_t i = 0; i < LARGE; i++) check_zero(blocks[i], 700000);
  loam_heap_destroy(heap);
  strict_check_all_released(&strict);
}

static void on_demand(void) {
  heap = strict_heap(&strict);
  for (int i = 0; i < LARGE; i++) blocks[i] = opaque(loam_heap_malloc(heap, MIB + 5000));
  for (int i = 0; i < LARGE; i++) free(blocks[i]);
  loam_malloc_trim(0);
  CHECK_THAT(strict.committed_bytes, <, MIB); /* the records of one region */
  CHECK_EQ(strict.reservation_count, 1);
  loam_heap_destroy(heap);
}

static void without_a_purge_callback(void) {
  strict.provider.purge = NULL;
  heap = strict_heap(&strict);
  for (int round = 0; round < 3; round++) {
    allocate();
    size_t committed = strict.committed_bytes;
    free_everything();
    loam_malloc_trim(0);
    be_active(0.6);
    CHECK_EQ(strict.committed_bytes, committed);
    CHECK_EQ(strict.purged_bytes, 0);
  }
  /* Of regions that are empty all but one go whole. */
  for (int i = 0; i < LARGE; i++) blocks[i] = opaque(loam_heap_malloc(heap, 20 * MIB));
  CHECK_THAT(strict.reservation_count, >, 4);
  for (int i = 0; i < LARGE; i++) free(blocks[i]);
  loam_heap_free_all(heap);
  loam_malloc_trim(0);
  CHECK_EQ(strict.reservation_count, 1);
  loam_heap_destroy(heap);
  strict_check_all_released(&strict);
}

int main(void) {
  strict_start(&strict);
  by_the_clock();
  strict_start(&strict);
  on_demand();
  strict_start(&strict);
  /* In 32 bit a region is smaller than what is allocated there, and the empty ones go whole. */
  if (sizeof(void *) == 8) without_a_purge_callback();
  return 0;
}
