// build: both
// expect: loam: invalid pointer 0xADDR given to free by MODULE: not a block of loam or of the C library
/* free of (void *)-1: an error value such as MAP_FAILED */
#include "crime.h"

int main(void) {
  free(announce((void *)(uintptr_t)opaque_size(SIZE_MAX)));
  return 0;
}
