// build: checking
// windows: no
// expect: loam: block 0xADDR of new[] given to delete by MODULE
/* an array of no elements is deleted as one object */
#include "crime.h"
#include <new>

int main() {
  operator delete(announce(operator new[](0)));
  return 0;
}
