// build: both
// windows: no
// expect: loam: wrong size 1000 given to free_sized for block 0xADDR by MODULE
/* operator delete with a size that is larger than the block */
#include "crime.h"
#include <new>

int main() {
  operator delete(announce(operator new(100)), (size_t)1000);
  return 0;
}
