// build: both
// expect: loam: invalid pointer 0xADDR given to free by MODULE: not a block of loam or of the C library
/* free of a pointer with garbage in its upper bits */
#include "crime.h"

int main(void) {
  char *block = malloc(100);
  free(announce((void *)((uintptr_t)block ^ ((uintptr_t)0x5a5a << 48))));
  return 0;
}
