// build: fast
// expect: loam: invalid pointer 0xADDR given to free, found later: not the start of a block
/* free of an address within a small block, long after the start */
#include "crime.h"
#include "later.h"

int main(void) {
  live_a_while();
  char *block = malloc(100);
  free(announce(block + 16));
  return 0;
}
