// build: both
// expect: loam: write past the end of block 0xADDR of 128 bytes
/* an overflow by one where the size is that of a size class */
#include "crime.h"

int main(void) {
  char *block = opaque(malloc(128));
  block[128] ^= 0x55;
  free(announce(block));
  return 0;
}
