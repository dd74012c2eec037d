// build: checking
// windows: no
// expect: loam: block 0xADDR of malloc given to delete by MODULE
/* what malloc has given is given to delete */
#include "crime.h"
#include <new>

int main() {
  operator delete(announce(malloc(100)));
  return 0;
}
