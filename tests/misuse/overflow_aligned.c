// build: checking
// expect: loam: write past the end of block 0xADDR of 100 bytes
/* an overflow by one in an aligned block */
#include "crime.h"

int main(void) {
  char *block = opaque(aligned_alloc(512, 100));
  block[100] ^= 0x55;
  free(announce(block));
  return 0;
}
