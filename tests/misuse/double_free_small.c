// build: both
// expect: loam: double free of 0xADDR by MODULE
/* a small block is freed twice */
#include "crime.h"

int main(void) {
  void *block = malloc(100);
  free(block);
  free(announce(block));
  return 0;
}
