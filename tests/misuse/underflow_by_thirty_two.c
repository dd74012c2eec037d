// build: checking
// expect: loam: write before the start of block 0xADDR
/* one byte is written to, 32 bytes before a small block */
#include "crime.h"

int main(void) {
  char *block = announce(malloc(8));
  block[-32] ^= 0x55;
  free(block);
  return 0;
}
