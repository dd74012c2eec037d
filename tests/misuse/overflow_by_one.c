// build: both
// expect: loam: write past the end of block 0xADDR of 100 bytes
/* one byte behind the requested size is changed; found at free */
#include "crime.h"

int main(void) {
  char *block = opaque(malloc(100));
  block[100] ^= 0x55;
  free(announce(block));
  return 0;
}
