// build: checking
// expect: loam: write before the start of block 0xADDR
/* the byte before a large block is written to, long after the start */
#include "crime.h"
#include "later.h"

int main(void) {
  live_a_while();
  char *block = announce(malloc(3 << 20));
  block[-1] ^= 0x55;
  free(block);
  return 0;
}
