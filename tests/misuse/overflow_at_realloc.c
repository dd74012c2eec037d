// build: both
// expect: loam: write past the end of block 0xADDR of 100 bytes
/* an overflow is found at realloc too */
#include "crime.h"

int main(void) {
  char *block = opaque(malloc(100));
  block[100] ^= 0x55;
  opaque(realloc(announce(block), 200));
  return 0;
}
