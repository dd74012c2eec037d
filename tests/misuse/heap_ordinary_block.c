// build: both
// expect: loam: invalid pointer 0xADDR given to heap_realloc by MODULE: not a block of that heap
/* a block of malloc is resized in a first-class heap */
#include "crime.h"

int main(void) {
  struct loam_heap *heap = loam_heap_new();
  return loam_heap_realloc(heap, announce(malloc(300000)), 100) == NULL;
}
