// build: both
// expect: loam: write after free in block 0xADDR
/* a free block is written to; found when it is handed out again */
#include "crime.h"

int main(void) {
  char *block = malloc(100);
  free(block);
  announce(block);
  ((volatile char *)block)[40] ^= 0x55;
  for (int i = 0; i < 200000; i++) opaque(malloc(100));
  return 0;
}
