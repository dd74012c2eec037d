// build: both
// expect: loam: invalid pointer 0xADDR given to free by MODULE: not a block of loam or of the C library
// windows: no
/* free of memory that the program mapped itself */
#include "crime.h"
#include <sys/mman.h>

int main(void) {
  char *mapping = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  free(announce(mapping + 16));
  return 0;
}
