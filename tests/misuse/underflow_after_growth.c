// build: checking
// expect: loam: write before the start of block 0xADDR
/* the byte before a large block is written to that has grown */
#include "crime.h"

int main(void) {
  char *block = opaque(malloc(100000));
  block = announce(realloc(block, 3000000));
  block[-100] ^= 0x55;
  free(block);
  return 0;
}
