/* Forks while threads use a first-class heap: the child finds its blocks, and may free, allocate
 * and destroy. */
#include "background.h"
#include "../names.h"

enum { FORKS = 100, BLOCKS = 64 };
static struct loam_heap *heap;
static unsigned char *blocks[BLOCKS];

static void *use_heap(void *unused) {
  while (!__atomic_load_n(&background_stop, __ATOMIC_RELAXED)) {
    for (size_t size = 1; size < MIB; size = size * 4 + 1)
      loam_heap_free(heap, opaque(loam_heap_malloc(heap, size)));
    struct loam_heap *other = loam_heap_new();
    CHECK(opaque(loam_heap_malloc(other, 1000)) != NULL);
    loam_heap_destroy(other);
  }
  return unused;
}

static void be_the_child(void) {
  for (unsigned i = 0; i < BLOCKS; i++) {
    check_filled(blocks[i], 0, 100, i);
    if (i % 2 == 0) loam_heap_free(heap, blocks[i]);
    else if (i % 3 == 0) free(blocks[i]);
    void *block = opaque(loam_heap_malloc(heap, 1000 * i));
    CHECK(block != NULL);
  }
  loam_heap_destroy(heap);
  CHECK(loam_heap_new() != NULL);
  _exit(0);
}

int main(void) {
  pthread_t threads[3];
  heap = loam_heap_new();
  for (unsigned i = 0; i < BLOCKS; i++) {
    blocks[i] = opaque(loam_heap_malloc(heap, 100 + (size_t)i * 5000));
    fill(blocks[i], 0, 100, i);
  }
  for (int i = 0; i < 3; i++) threads[i] = start_thread(use_heap, NULL);
  fork_repeatedly(FORKS, be_the_child);
  __atomic_store_n(&background_stop, 1, __ATOMIC_RELAXED);
  for (int i = 0; i < 3; i++) join_thread(threads[i]);
  loam_heap_destroy(heap);
  return 0;
}
