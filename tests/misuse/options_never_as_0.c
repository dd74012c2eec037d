// build: both
// status: 0
// environment: LOAM_OPTIONS=invalid=end,purge_delay_ms=0
// expect: loam: LOAM_OPTIONS: 0 for 'purge_delay_ms' is taken for never: write never, or 1 for nearly at once
/* a number that reads as the opposite says what it is taken for, and is no wrong entry */
#include "crime.h"

int main(void) {
  free(opaque(malloc(100)));
  return 0;
}
