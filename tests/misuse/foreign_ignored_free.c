// build: both
// status: 0
// environment: LOAM_OPTIONS=foreign=ignore
/* foreign=ignore: free of a foreign pointer does nothing and prints nothing */
#include "crime.h"

int main(void) {
  static long variable[4];
  long local[4] = {1, 2, 3, 4};
  errno = 9;
  free(opaque(&variable[2]));
  free(opaque(&local[2]));
  CHECK_EQ(errno, 9);
  CHECK_EQ(local[2], 3);
  return 0;
}
