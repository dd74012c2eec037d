// windows: yes
// environment: LOAM_OPTIONS=purge_delay_ms=50
/* A page provider that takes nothing back is not asked again and again: neither for one that
 * refuses all, whatever calls come, nor without an end. Once it takes memory, it gets it. */
#include "provider.h"
#include "slow_path.h"

enum { LARGE = 60, SMALL = 20000, MIDDLE = 2000, ALL = LARGE + SMALL + MIDDLE };
static struct strict strict;
static struct loam_page_provider provider;
static void *blocks[ALL];
static volatile int refuses;
static volatile long refused_count; /* by one thread */

static int purge(void *context, void *address, size_t size) {
  if (!refuses) return strict_purge(context, address, size);
  refused_count++;
  return EBUSY;
}

/* Of the heap, or if that is null of everybody's. */
static void *take(struct loam_heap *heap, size_t size) {
  return opaque(heap != NULL ? loam_heap_malloc(heap, size) : malloc(size));
}

static void allocate(struct loam_heap *heap) {
  for (size_t i = 0; i < ALL; i++) {
    size_t size = i < LARGE ? 400000 : i < LARGE + SMALL ? 1000 : 20000;
    blocks[i] = take(heap, size);
    CHECK(blocks[i] != NULL);
    memset(blocks[i], 1, size);
  }
}

/* The small blocks' spans keep some, so that these have pages between blocks. */
static void free_most(void) {
  for (size_t i = 0; i < ALL; i++) {
    if (i % 50 == 0 && i >= LARGE && i < LARGE + SMALL) continue;
    free(blocks[i]);
    blocks[i] = NULL;
  }
}

static void free_rest(void) {
  for (size_t i = 0; i < ALL; i++) free(blocks[i]);
}

/* Calls of which many end in slow paths. */
static void call_for(struct loam_heap *heap, double seconds) {
  static void *some[512];
  for (double end = seconds_now() + seconds; seconds_now() < end;) {
    for (size_t i = 0; i < 512; i++) {
      size_t size = i % 64 == 0 ? 300000 : i % 8 == 0 ? 20000 : 64 + i * 8;
      some[i] = take(heap, size);
    }
    for (size_t i = 0; i < 512; i++) free(some[i]);
  }
}

static void check(struct loam_heap *heap) {
  allocate(heap);
  refuses = 1;
  free_most();
  call_for(heap, 1.5);
  long before = refused_count;
  call_for(heap, 1);
  CHECK_THAT(refused_count - before, <, 2000);
  CHECK_THAT(refused_count, >, 0);
  refuses = 0;
  size_t purged_before = strict.purged_bytes;
  for (int tries = 0; tries < 100 && strict.purged_bytes - purged_before < 40 * MIB; tries++) {
    be_active(0.1);
    free(take(heap, 10));
  }
  CHECK_THAT(strict.purged_bytes - purged_before, >=, 40 * MIB);
  free_rest();
}

int main(void) {
  strict_start(&strict);
  provider = strict.provider;
  provider.purge = purge;
  struct loam_heap *heap = loam_heap_new_with_provider(&provider);
  CHECK(heap != NULL);
  check(heap);
  loam_heap_destroy(heap);
  CHECK_EQ(loam_set_page_provider(&provider), 0);
  check(NULL);
  return 0;
}
