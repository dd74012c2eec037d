// build: both
// expect: loam: double free of 0xADDR by MODULE
/* a large block is freed twice */
#include "crime.h"

int main(void) {
  void *block = malloc(300000);
  free(block);
  free(announce(block));
  return 0;
}
