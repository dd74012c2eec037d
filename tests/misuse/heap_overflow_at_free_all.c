// build: checking
// expect: loam: write past the end of block 0xADDR of 100 bytes
/* a block of a first-class heap is written past its end, which free_all finds */
#include "crime.h"

int main(void) {
  struct loam_heap *heap = loam_heap_new();
  char *block = announce(loam_heap_malloc(heap, 100));
  block[100] ^= 0x55;
  loam_heap_free_all(heap);
  return 0;
}
