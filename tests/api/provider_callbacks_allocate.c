// windows: yes
/* The callbacks of a heap's page provider may allocate and free ordinary blocks, whoever brings
 * them about: the heap, a free, or the purge clock in the midst of somebody's malloc. */
#include "provider.h"
#include "slow_path.h"
#include "threads.h"

enum { HEAPS = 3, BLOCKS = 500 };
static struct strict stricts[HEAPS];
static struct loam_heap *heaps[HEAPS];
static int stop;

static void use_heap(struct loam_heap *heap, uint64_t *random) {
  void *blocks[BLOCKS];
  for (int i = 0; i < BLOCKS; i++) {
    size_t size = random_next(random) % (random_next(random) % 8 == 0 ? 900000 : 3000) + 1;
    blocks[i] = opaque(loam_heap_malloc(heap, size));
    memset(blocks[i], i, size);
  }
  for (int i = 0; i < BLOCKS; i++) free(blocks[i]);
  loam_heap_free(heap, opaque(loam_heap_malloc(heap, 40 * MIB)));
}

static void *work(void *index) {
  uint64_t random = (uintptr_t)index + 1;
  while (!__atomic_load_n(&stop, __ATOMIC_RELAXED))
    use_heap(heaps[random_next(&random) % HEAPS], &random);
  return NULL;
}

static int all_have_purged(void) {
  size_t least = SIZE_MAX;
  for (int i = 0; i < HEAPS; i++) {
    CHECK_EQ(pthread_mutex_lock(&stricts[i].lock), 0);
    if (stricts[i].purged_bytes < least) least = stricts[i].purged_bytes;
    CHECK_EQ(pthread_mutex_unlock(&stricts[i].lock), 0);
  }
  return least > 0;
}

/* Turns the clock, while the heaps are in use: longer on a slow machine. */
static void wait_for_purges(void) {
  be_active(2);
  for (int second = 2; second < 40 && !all_have_purged(); second++) be_active(1);
}

int main(void) {
  pthread_t threads[2];
  for (int i = 0; i < HEAPS; i++) {
    strict_start(&stricts[i]);
    stricts[i].allocate = 1;
    heaps[i] = strict_heap(&stricts[i]);
  }
  for (intptr_t i = 0; i < 2; i++) threads[i] = start_thread(work, (void *)i);
  wait_for_purges();
  __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
  for (int i = 0; i < 2; i++) join_thread(threads[i]);
  be_active(1);
  for (int i = 0; i < HEAPS; i++) {
    loam_heap_destroy(heaps[i]);
    strict_check_all_released(&stricts[i]);
    CHECK_THAT(stricts[i].purged_bytes, >, 0);
  }
  return 0;
}
