// build: both
// expect: loam: write past the end of block 0xADDR of 33 bytes
/* the terminating zero of a string is written past the end */
#include "crime.h"

int main(void) {
  char *block = opaque(malloc(33));
  memset(block, 65, 33);
  block[33] = 0;
  free(announce(block));
  return 0;
}
