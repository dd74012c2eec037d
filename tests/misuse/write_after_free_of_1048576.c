// build: checking
// expect: loam: write after free in block 0xADDR
/* a block of 1048576 bytes is written to after it was freed */
#include "crime.h"
#include "later.h"

int main(void) {
  live_a_while();
  char *block = announce(malloc(1048576));
  free(block);
  block[1000] ^= 0x55;
  return 0;
}
