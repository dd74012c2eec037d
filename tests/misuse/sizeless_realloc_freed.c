// build: checking
// expect: loam: invalid pointer 0xADDR given to realloc by MODULE: not the start of a block
/* a block of no bytes is resized that is free */
#include "crime.h"

int main(void) {
  char *block = announce(malloc(0));
  free(block);
  free(realloc(opaque(block), 10));
  return 0;
}
