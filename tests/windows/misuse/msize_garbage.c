// build: both
// expect: loam: invalid pointer 0xADDR given to _msize by MODULE: not a block of loam or of the C library
/* _msize of a static variable */
#include "../../misuse/crime.h"

int main(void) {
  static long variable[4];
  _msize(announce(&variable[2]));
  return 0;
}
