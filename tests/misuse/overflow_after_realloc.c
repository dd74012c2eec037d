// build: both
// expect: loam: write past the end of block 0xADDR of 90 bytes
/* a block that shrank is as large as it is now, not as it was */
#include "crime.h"

int main(void) {
  char *block = opaque(realloc(opaque(malloc(100)), 90));
  block[90] ^= 0x55;
  free(announce(block));
  return 0;
}
