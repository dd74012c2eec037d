// build: both
// status: 0
// environment: LOAM_OPTIONS=no_such_option=1
// expect: loam: LOAM_OPTIONS: unknown option 'no_such_option'; help=1 lists them all
/* an option that does not exist is named, and the program goes on */
#include "crime.h"

int main(void) {
  free(opaque(malloc(100)));
  return 0;
}
