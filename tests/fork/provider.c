/* Forks while threads use heaps with page providers whose callbacks take locks and allocate: the
 * child finds both heap and provider whole, and may use and destroy it. */
#include "background.h"
#include "../provider.h"

enum { FORKS = 60, BLOCKS = 64 };
static struct strict strict, others[3];
static struct loam_heap *heap;
static unsigned char *blocks[BLOCKS];

static void *use_heap(void *index) {
  struct strict *own = &others[(intptr_t)index];
  strict_start(own);
  own->allocate = 1;
  while (!__atomic_load_n(&background_stop, __ATOMIC_RELAXED)) {
    for (size_t size = 1; size < 100 * MIB; size = size * 4 + 1)
      free(opaque(loam_heap_malloc(heap, size)));
    struct loam_heap *other = strict_heap(own);
    CHECK(opaque(loam_heap_malloc(other, 1000)) != NULL);
    loam_heap_destroy(other);
  }
  return NULL;
}

static void be_the_child(void) {
  for (unsigned i = 0; i < BLOCKS; i++) {
    check_filled(blocks[i], 0, 100, i);
    if (i % 2 == 0) loam_heap_free(heap, blocks[i]);
    else if (i % 3 == 0) free(blocks[i]);
    CHECK(opaque(loam_heap_malloc(heap, 1000 * i)) != NULL);
  }
  CHECK(opaque(loam_heap_malloc(heap, 50 * MIB)) != NULL);
  loam_heap_destroy(heap);
  /* But for huge blocks that threads were about to free. */
  CHECK_THAT(strict.reservation_count, <=, 3);
  heap = strict_heap(&strict);
  CHECK(opaque(loam_heap_malloc(heap, 100)) != NULL);
  _exit(0);
}

int main(void) {
  pthread_t threads[3];
  strict_start(&strict);
  strict.allocate = 1;
  heap = strict_heap(&strict);
  for (unsigned i = 0; i < BLOCKS; i++) {
    blocks[i] = opaque(loam_heap_malloc(heap, 100 + (size_t)i * 5000));
    fill(blocks[i], 0, 100, i);
  }
  for (intptr_t i = 0; i < 3; i++) threads[i] = start_thread(use_heap, (void *)i);
  fork_repeatedly(FORKS, be_the_child);
  __atomic_store_n(&background_stop, 1, __ATOMIC_RELAXED);
  for (int i = 0; i < 3; i++) join_thread(threads[i]);
  loam_heap_destroy(heap);
  strict_check_all_released(&strict);
  return 0;
}
