// build: both
// windows: no
// environment: LOAM_OPTIONS=mismatch=strict
// expect: loam: wrong size 8 given to free_sized for block 0xADDR by MODULE
/* with mismatch=strict, operator delete with a size that the block cannot have been asked for with */
#include "crime.h"
#include <new>

int main() {
  operator delete(announce(operator new(1000)), (size_t)8);
  return 0;
}
