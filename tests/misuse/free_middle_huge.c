// build: both
// expect: loam: invalid pointer 0xADDR given to free by MODULE: not the start of a block
/* free of a pointer into the middle of a huge block */
#include "crime.h"

int main(void) {
  char *block = malloc(100 * MIB);
  free(announce(block + 50 * MIB + 16));
  return 0;
}
