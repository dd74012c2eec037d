// build: both
// expect: loam: double free of 0xADDR by MODULE
/* an aligned block is freed twice */
#include "crime.h"

int main(void) {
  void *block = aligned_alloc(4096, 1000);
  free(block);
  free(announce(block));
  return 0;
}
