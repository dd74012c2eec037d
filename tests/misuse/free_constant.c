// build: both
// expect: loam: invalid pointer 0xADDR given to free by MODULE: not a block of loam or of the C library
/* free of read-only data: a string constant */
#include "crime.h"

int main(void) {
  free(announce((void *)(uintptr_t)"constant"));
  return 0;
}
