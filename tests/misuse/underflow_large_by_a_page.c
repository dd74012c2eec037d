// build: checking
// expect: loam: write before the start of block 0xADDR
/* one byte is written to, a page before a block of 1 MiB */
#include "crime.h"

int main(void) {
  char *block = announce(malloc(1 << 20));
  block[-4096] ^= 0x55;
  free(block);
  return 0;
}
