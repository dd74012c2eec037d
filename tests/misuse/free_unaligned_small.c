// build: both
// expect: loam: invalid pointer 0xADDR given to free by MODULE: not the start of a block
/* free of a small block, off by one */
#include "crime.h"

int main(void) {
  char *block = malloc(1000);
  free(announce(block + 1));
  return 0;
}
