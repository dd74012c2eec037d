// build: checking
// expect: loam: double free of 0xADDR by MODULE
/* a block of no bytes is freed twice */
#include "crime.h"

int main(void) {
  char *block = announce(malloc(0));
  free(block);
  free(opaque(block));
  return 0;
}
