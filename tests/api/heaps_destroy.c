// windows: yes
/* A destroyed heap's memory serves others, and thousands of heaps cost no more than a few. */
#include "names.h"

enum { ROUNDS = 3000, BLOCKS = 50 };

static void one_heap(void) {
  struct loam_heap *heap = loam_heap_new();
  CHECK(heap != NULL);
  for (size_t i = 0; i < BLOCKS; i++) {
    void *block = opaque(loam_heap_malloc(heap, 100 + i * 400));
    touch(block, 100 + i * 400);
  }
  touch(opaque(loam_heap_malloc(heap, MIB)), MIB);
  loam_heap_destroy(heap);
}

int main(void) {
  for (int i = 0; i < 50; i++) one_heap();
  size_t before = resident_bytes();
  for (int i = 0; i < ROUNDS; i++) one_heap();
  CHECK_THAT(resident_bytes(), <, before + 4 * MIB);
  return 0;
}
