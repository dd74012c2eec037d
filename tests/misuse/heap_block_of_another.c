// build: both
// expect: loam: invalid pointer 0xADDR given to heap_free by MODULE: not a block of that heap
/* a block of one first-class heap is freed in another */
#include "crime.h"

int main(void) {
  struct loam_heap *heap = loam_heap_new(), *other = loam_heap_new();
  loam_heap_free(other, announce(loam_heap_malloc(heap, 100)));
  return 0;
}
