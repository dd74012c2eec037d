// build: checking
// expect: loam: write past the end of block 0xADDR of 8 bytes
/* one byte is written to, 32 bytes behind the last one of a small block */
#include "crime.h"

int main(void) {
  char *block = announce(malloc(8));
  block[7 + 32] ^= 0x55;
  free(block);
  return 0;
}
