// build: fast
// expect: loam: double free of 0xADDR, found later
/* a block is freed twice, with another one in between, among thousands that are freed */
#include "crime.h"

enum { COUNT = 20000 };

int main(void) {
  static char *blocks[COUNT];
  for (int i = 0; i < COUNT; i++) blocks[i] = opaque(malloc(100));
  for (int i = 0; i < COUNT - 2; i++) free(blocks[i]);
  free(announce(blocks[COUNT - 1]));
  free(blocks[COUNT - 2]);
  free(opaque(blocks[COUNT - 1]));
  return 0;
}
