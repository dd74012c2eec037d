// build: both
// expect: loam: invalid pointer 0xADDR given to free by MODULE: not a block of loam or of the C library
/* free of an address on the stack */
#include "crime.h"

int main(void) {
  long variable[4] = {0};
  free(announce(&variable[2]));
  return 0;
}
