// build: checking
// windows: no
// expect: loam: block 0xADDR of new[] given to delete by MODULE
/* what new[] has given is given to delete */
#include "crime.h"
#include <new>

int main() {
  operator delete(announce(operator new[](100)));
  return 0;
}
