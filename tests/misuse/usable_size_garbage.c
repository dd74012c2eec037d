// build: both
// expect: loam: invalid pointer 0xADDR given to malloc_usable_size by MODULE: not a block of loam or of the C library
// windows: no
/* malloc_usable_size of a static variable */
#include "crime.h"

int main(void) {
  static long variable[4];
  malloc_usable_size(announce(&variable[2]));
  return 0;
}
