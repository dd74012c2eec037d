// build: both
// expect: loam: invalid heap 0xADDR given to heap_destroy by MODULE: it has been destroyed
/* a first-class heap is destroyed twice */
#include "crime.h"

int main(void) {
  struct loam_heap *heap = loam_heap_new();
  loam_heap_destroy(heap);
  loam_heap_destroy(announce(heap));
  return 0;
}
