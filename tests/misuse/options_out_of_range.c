// build: both
// status: 0
// environment: LOAM_OPTIONS=purge_delay_ms=99999999999999999999
// expect: loam: LOAM_OPTIONS: bad value '99999999999999999999' for purge_delay_ms: expected {.+}; {[0-9]+} is used
/* a value that does not fit into any integer */
#include "crime.h"

int main(void) {
  free(opaque(malloc(100)));
  return 0;
}
