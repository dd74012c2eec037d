// build: both
// expect: loam: invalid pointer 0xADDR given to free by MODULE: not a block of loam or of the C library
/* free of a small integer: a field of a null struct */
#include "crime.h"

int main(void) {
  free(announce((void *)(uintptr_t)opaque_size(0x40)));
  return 0;
}
