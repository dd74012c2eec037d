// build: checking
// expect: loam: write past the end of block 0xADDR of 1048576 bytes
/* one byte is written to, a page behind the last one of a block of 1 MiB */
#include "crime.h"

int main(void) {
  char *block = announce(malloc(1 << 20));
  block[(1 << 20) - 1 + 4096] ^= 0x55;
  free(block);
  return 0;
}
