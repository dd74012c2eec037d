// build: both
// expect: loam: invalid pointer 0xADDR given to free by MODULE: not a block of loam or of the C library
// windows: no
/* free of an address in a page that may not be read */
#include "crime.h"
#include <sys/mman.h>

int main(void) {
  char *mapping = mmap(NULL, 65536, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  free(announce(mapping + 8192 + 16));
  return 0;
}
