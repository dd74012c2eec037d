// build: both
// status: 0
// environment: LOAM_OPTIONS=purge_delay_ms=
// expect: loam: LOAM_OPTIONS: bad value '' for purge_delay_ms: expected {.+}; {[0-9]+} is used
/* a name with an empty value */
#include "crime.h"

int main(void) {
  free(opaque(malloc(100)));
  return 0;
}
