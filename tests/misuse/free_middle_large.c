// build: both
// expect: loam: invalid pointer 0xADDR given to free by MODULE: not the start of a block
/* free of a pointer into the middle of a large block */
#include "crime.h"

int main(void) {
  char *block = malloc(300000);
  free(announce(block + 100000));
  return 0;
}
