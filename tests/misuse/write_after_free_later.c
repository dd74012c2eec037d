// build: fast
// expect: loam: write after free in a block of 112 bytes
/* a free block is written to, long after the start, and blocks of its size are taken */
#include "crime.h"
#include "later.h"

int main(void) {
  live_a_while();
  char *block = malloc(100);
  free(block);
  memset(opaque(block), 'x', 100);
  for (int i = 0; i < 3; i++) opaque(malloc(100));
  return 0;
}
