// build: both
// status: 0
// environment: LOAM_OPTIONS=purge_delay_ms=-5
// expect: loam: LOAM_OPTIONS: bad value '-5' for purge_delay_ms: expected {.+}; {[0-9]+} is used
/* a value below the range */
#include "crime.h"

int main(void) {
  free(opaque(malloc(100)));
  return 0;
}
