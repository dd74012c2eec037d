// build: both
// expect: loam: write before the start of block 0xADDR
/* the byte before a block is written to */
#include "crime.h"

int main(void) {
  char *block = announce(malloc(100));
  block[-1] ^= 0x55;
  free(block);
  return 0;
}
