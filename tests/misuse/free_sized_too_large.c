// build: both
// expect: loam: wrong size 5000 given to free_sized for block 0xADDR by MODULE
/* free_sized with a size that the block cannot have */
#include "crime.h"

int main(void) {
  free_sized(announce(malloc(100)), 5000);
  return 0;
}
