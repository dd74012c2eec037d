// build: both
// expect: loam: double free of 0xADDR by MODULE
/* a small block of a first-class heap is freed twice */
#include "crime.h"

int main(void) {
  struct loam_heap *heap = loam_heap_new();
  void *block = loam_heap_malloc(heap, 100), *other = loam_heap_malloc(heap, 100);
  loam_heap_free(heap, block);
  loam_heap_free(heap, announce(block));
  return other == NULL;
}
