// build: both
// expect: loam: invalid pointer 0xADDR given to realloc by MODULE: not the start of a block
/* realloc of a pointer into the middle of a large block */
#include "crime.h"

int main(void) {
  char *block = malloc(300000);
  opaque(realloc(announce(block + 4096), 100));
  return 0;
}
