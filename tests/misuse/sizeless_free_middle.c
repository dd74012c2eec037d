// build: checking
// expect: loam: invalid pointer 0xADDR given to free by MODULE: not the start of a block
/* an address within a block of no bytes is freed */
#include "crime.h"

int main(void) {
  char *block = opaque(malloc(0));
  free(announce(block + 1));
  return 0;
}
