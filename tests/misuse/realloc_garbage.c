// build: both
// expect: loam: invalid pointer 0xADDR given to realloc by MODULE: not a block of loam or of the C library
/* realloc of an address on the stack */
#include "crime.h"

int main(void) {
  long variable[4] = {0};
  opaque(realloc(announce(&variable[2]), 100));
  return 0;
}
