// build: checking
// expect: loam: invalid pointer 0xADDR given to free by MODULE: not a block of loam or of the C library
/* free of a pointer with garbage in its upper bits; the fast build would have to
 * look at these bits on every free, and ends with SIGSEGV instead */
#include "crime.h"

int main(void) {
  char *block = malloc(100);
  free(announce((void *)((uintptr_t)block ^ ((uintptr_t)0x5a5a << (sizeof block * 8 - 16)))));
  return 0;
}
