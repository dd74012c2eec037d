// build: both
// expect: {loam: double free of 0x[0-9a-f]+ by .*|loam: invalid pointer 0x[0-9a-f]+ given to free by .*: not a block of loam or of the C library}
/* a huge block is freed twice; it was a mapping of its own, and may be no memory of loam'\''s */
#include "crime.h"

int main(void) {
  void *block = malloc(100 * MIB);
  free(block);
  free(announce(block));
  return 0;
}
