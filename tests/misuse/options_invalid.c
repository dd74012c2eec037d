// build: both
// status: 125
// environment: LOAM_OPTIONS=invalid=end,no_such_option=1
// expect: loam: LOAM_OPTIONS: unknown option 'no_such_option'; help=1 lists them all
/* with invalid=end the program does not come to its main function */
#include "crime.h"

int main(void) {
  free(opaque(malloc(100)));
  return 0;
}
