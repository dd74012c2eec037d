// build: both
// status: 0
// environment: LOAM_OPTIONS=purge_delay_ms
// expect: loam: LOAM_OPTIONS: no value in 'purge_delay_ms': write NAME=VALUE
/* an entry without = */
#include "crime.h"

int main(void) {
  free(opaque(malloc(100)));
  return 0;
}
