// build: both
// expect: loam: invalid heap 0xADDR given to heap_malloc by MODULE: it has been destroyed
/* a first-class heap is used after it was destroyed */
#include "crime.h"

int main(void) {
  struct loam_heap *heap = loam_heap_new();
  loam_heap_destroy(heap);
  void *block = loam_heap_malloc(announce(heap), 100);
  return block == NULL;
}
