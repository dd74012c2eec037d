// windows: yes
/* A page provider for the whole process: all memory that is reserved from then on is its own, for
 * every thread; blocks from before stay as they are, and there is no second one. */
#include "provider.h"
#include "slow_path.h"
#include "threads.h"

enum { BLOCKS = 4000 };
static struct strict strict, another;
static unsigned char *before[BLOCKS], *blocks[BLOCKS];

static size_t size_of(size_t i) {
  if (i % 500 == 77) return 40 * MIB;
  return i % 50 == 7 ? 500000 : i % 10 == 3 ? 60000 : 1 + i % 3000;
}

static void allocate(unsigned char **all) {
  for (size_t i = 0; i < BLOCKS; i++) {
    all[i] = opaque(i % 2 ? calloc(1, size_of(i)) : malloc(size_of(i)));
    CHECK(all[i] != NULL);
    if (i % 2) check_zero(all[i], size_of(i) < 5000 ? size_of(i) : 5000);
    fill(all[i], 0, size_of(i) < 100 ? size_of(i) : 100, (unsigned)i);
  }
}

static void check_and_free(unsigned char **all) {
  for (size_t i = 0; i < BLOCKS; i++) {
    check_filled(all[i], 0, size_of(i) < 100 ? size_of(i) : 100, (unsigned)i);
    free(all[i]);
  }
}

/* A thread of before fills up its spans first, most blocks of one from after are in new ones. */
static void *work(void *is_new) {
  allocate(blocks);
  size_t inside = 0;
  for (size_t i = 0; i < BLOCKS; i++) {
    int has = strict_has(&strict, blocks[i]);
    inside += has;
    if (size_of(i) > 100000) CHECK(has);
  }
  CHECK_THAT(inside, >, is_new != NULL ? BLOCKS * 3 / 4 : BLOCKS / 8);
  return NULL;
}

int main(void) {
  strict_start(&strict);
  strict_start(&another);
  allocate(before);
  errno = 1234;
  CHECK_EQ(loam_set_page_provider(&strict.provider), 0);
  CHECK_EQ(loam_set_page_provider(&another.provider), EBUSY);
  CHECK_EQ(errno, 1234);
  CHECK_EQ(strict.call_count, 0);
  for (int round = 0; round < 3; round++) {
    run_in_thread(work, &strict);
    check_and_free(blocks);
  }
  work(NULL);
  for (size_t i = 0; i < BLOCKS; i++) { /* contents move from one to the other */
    CHECK(!strict_has(&strict, before[i]));
    if (i % 3 != 0) continue;
    before[i] = opaque(realloc(before[i], size_of(i) * 2 + 100));
    check_filled(before[i], 0, size_of(i) < 100 ? size_of(i) : 100, (unsigned)i);
    before[i] = opaque(realloc(before[i], size_of(i)));
  }
  struct loam_heap *heap = loam_heap_new(), *other = strict_heap(&another);
  CHECK(strict_has(&strict, opaque(loam_heap_malloc(heap, 3 * MIB))));
  CHECK(strict_has(&another, opaque(loam_heap_malloc(other, 3 * MIB))));
  loam_heap_destroy(heap);
  loam_heap_destroy(other);
  strict_check_all_released(&another);
  check_and_free(before);
  check_and_free(blocks);
  be_active(1.5);
  loam_malloc_trim(0);
  CHECK_THAT(strict.committed_bytes, <, 16 * MIB);
  CHECK_THAT(strict.purged_bytes, >, 10 * MIB);
  return 0;
}
