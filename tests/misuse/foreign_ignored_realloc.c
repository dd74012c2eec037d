// build: both
// status: 0
// environment: LOAM_OPTIONS=foreign=ignore
/* foreign=ignore: realloc of a foreign pointer fails with ENOMEM */
#include "crime.h"

int main(void) {
  static long variable[4];
  errno = 0;
  CHECK(opaque(realloc(opaque(&variable[2]), 100)) == NULL);
  CHECK_EQ(errno, ENOMEM);
  return 0;
}
