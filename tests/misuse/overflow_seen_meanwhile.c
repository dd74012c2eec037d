// build: checking
// expect: loam: write past the end of block 0xADDR of 100 bytes
/* a block that is written past its end is found while the process lives, though it is not freed */
#include "crime.h"
#include "later.h"

int main(void) {
  live_a_while();
  char *block = announce(malloc(100));
  block[100] ^= 0x55;
  for (int i = 0; i < 1000000; i++) free(opaque(malloc(16)));
  _exit(0);
}
