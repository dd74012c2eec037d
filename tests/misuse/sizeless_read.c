// build: checking
// windows: no
// status: -11
/* a block of no bytes is read */
#include "crime.h"

int main(void) {
  volatile char *block = announce(malloc(0));
  return *block;
}
