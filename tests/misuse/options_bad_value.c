// build: both
// status: 0
// environment: LOAM_OPTIONS=purge_delay_ms=soon
// expect: loam: LOAM_OPTIONS: bad value 'soon' for purge_delay_ms: expected {.+}; {[0-9]+} is used
/* a value that is not of the option's form */
#include "crime.h"

int main(void) {
  free(opaque(malloc(100)));
  return 0;
}
