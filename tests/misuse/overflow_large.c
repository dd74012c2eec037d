// build: both
// expect: loam: write past the end of block 0xADDR of 300001 bytes
/* an overflow by one in a large block */
#include "crime.h"

int main(void) {
  char *block = opaque(malloc(300001));
  block[300001] ^= 0x55;
  free(announce(block));
  return 0;
}
