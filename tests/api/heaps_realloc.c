// windows: yes
/* realloc in a first-class heap keeps contents and stays in the heap, from small to huge and back. */
#include "names.h"

static size_t capped(size_t size) { return size < 2000 ? size : 2000; }

int main(void) {
  struct loam_heap *heap = loam_heap_new();
  unsigned char *block = opaque(loam_heap_realloc(heap, NULL, 10));
  size_t size = 10;
  fill(block, 0, size, 7);
  for (int round = 0; round < 3; round++) {
    for (size_t next = 20; next < 90 * MIB; next = next * 5 / 2) {
      block = opaque(loam_heap_realloc(heap, block, next));
      CHECK(block != NULL);
      check_filled(block, 0, capped(size < next ? size : next), 7);
      fill(block, 0, capped(next), 7);
      size = next;
    }
    for (size_t next = 80 * MIB; next > 20; next = next * 2 / 5) {
      block = opaque(loam_heap_realloc(heap, block, next));
      check_filled(block, 0, capped(size < next ? size : next), 7);
      fill(block, 0, capped(next), 7);
      size = next;
    }
  }
  loam_heap_free(heap, block); /* which ends the program if it has left the heap */
  block = opaque(loam_heap_malloc(heap, 100));
  CHECK(opaque(loam_heap_realloc(heap, block, 0)) == NULL);
  loam_heap_destroy(heap);
  return 0;
}
