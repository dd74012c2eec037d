// build: both
// status: 0
// environment: LOAM_OPTIONS=purge_delay_ms=10x
// expect: loam: LOAM_OPTIONS: bad value '10x' for purge_delay_ms: expected {.+}; {[0-9]+} is used
/* a number with something behind it */
#include "crime.h"

int main(void) {
  free(opaque(malloc(100)));
  return 0;
}
