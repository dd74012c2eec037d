// build: both
// status: 0
// environment: LOAM_OPTIONS=colour=red,purge_delay_ms=20,foreign,purge_delay_ms=x
// expect: loam: LOAM_OPTIONS: unknown option 'colour'; help=1 lists them all
// expect: loam: LOAM_OPTIONS: no value in 'foreign': write NAME=VALUE
// expect: loam: LOAM_OPTIONS: bad value 'x' for purge_delay_ms: expected {.+}; {[0-9]+} is used
/* each wrong entry gets its line; right ones between them are silent */
#include "crime.h"

int main(void) {
  free(opaque(malloc(100)));
  return 0;
}
