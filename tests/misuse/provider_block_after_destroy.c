// build: both
// expect: loam: invalid pointer 0xADDR given to free by MODULE: not a block of loam or of the C library
/* a block is freed after its heap, which had a page provider, was destroyed */
#include "../provider.h"
#include "crime.h"

int main(void) {
  static struct strict strict;
  strict_start(&strict);
  struct loam_heap *heap = strict_heap(&strict);
  void *block = announce(loam_heap_malloc(heap, 100));
  loam_heap_destroy(heap);
  free(block);
  return 0;
}
