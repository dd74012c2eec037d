// build: both
// status: 0
// environment: LOAM_OPTIONS=foreign=ignore
// windows: no
/* foreign=ignore: a foreign pointer has no usable bytes */
#include "crime.h"

int main(void) {
  static long variable[4];
  CHECK_EQ(malloc_usable_size(opaque(&variable[2])), 0);
  return 0;
}
