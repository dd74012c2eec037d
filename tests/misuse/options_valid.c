// build: both
// status: 0
// environment: LOAM_OPTIONS=purge_delay_ms=20,foreign=ignore,huge_pages=madvise
/* valid options print nothing */
#include "crime.h"

int main(void) {
  free(opaque(malloc(100)));
  return 0;
}
