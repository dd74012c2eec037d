// build: both
// expect: loam: invalid pointer 0xADDR given to free by MODULE: not a block of loam or of the C library
/* free of the address of a function */
#include "crime.h"

int main(void) {
  free(announce((void *)(uintptr_t)main));
  return 0;
}
