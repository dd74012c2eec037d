// build: both
// status: 0
// environment: LOAM_OPTIONS=
/* an empty string prints nothing */
#include "crime.h"

int main(void) {
  free(opaque(malloc(100)));
  return 0;
}
