// build: fast
// expect: loam: double free of 0xADDR, found later
/* a small block is freed twice, long after the start, with frees of others in between */
#include "crime.h"
#include "later.h"

int main(void) {
  live_a_while();
  void *block = malloc(100), *other = malloc(100);
  free(block);
  free(other);
  free(announce(block));
  return 0;
}
