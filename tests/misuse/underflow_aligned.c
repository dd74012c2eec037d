// build: checking
// windows: no
// expect: loam: write before the start of block 0xADDR
/* one byte is written to, 100 bytes before a small block that begins at a multiple of 4096 */
#include "crime.h"

int main(void) {
  char *block = announce(aligned_alloc(4096, 64));
  block[-100] ^= 0x55;
  free(block);
  return 0;
}
