// build: checking
// expect: loam: wrong size 99 given to free_sized for block 0xADDR by MODULE
/* free_sized with another size than was requested */
#include "crime.h"

int main(void) {
  free_sized(announce(malloc(100)), 99);
  return 0;
}
