// build: checking
// windows: no
// environment: LOAM_OPTIONS=mismatch=ignore
// status: 0
/* what new[] has given is given to delete, of which the program knows */
#include "crime.h"
#include <new>

int main() {
  operator delete(operator new[](100));
  return 0;
}
