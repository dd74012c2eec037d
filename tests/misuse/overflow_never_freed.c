// build: checking
// expect: loam: write past the end of block 0xADDR of 4096 bytes
/* a block that is never freed has been written past its end by when the process ends */
#include "crime.h"
#include "later.h"

int main(void) {
  live_a_while();
  char *block = announce(malloc(4096));
  block[4096] ^= 0x55;
  return 0;
}
