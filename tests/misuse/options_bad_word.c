// build: both
// status: 0
// environment: LOAM_OPTIONS=foreign=perhaps
// expect: loam: LOAM_OPTIONS: bad value 'perhaps' for foreign: expected {.+}; {[a-z]+} is used
/* a word that is none of an option's words */
#include "crime.h"

int main(void) {
  free(opaque(malloc(100)));
  return 0;
}
