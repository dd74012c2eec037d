// build: both
// expect: loam: invalid pointer 0xADDR given to free by MODULE: not a block of loam or of the C library
/* free of a static variable */
#include "crime.h"

int main(void) {
  static long variable[4];
  free(announce(&variable[2]));
  return 0;
}
