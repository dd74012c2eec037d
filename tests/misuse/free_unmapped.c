// build: both
// expect: loam: invalid pointer 0xADDR given to free by MODULE: not a block of loam or of the C library
// windows: no
/* free of an address where nothing is mapped */
#include "crime.h"
#include <sys/mman.h>

int main(void) {
  void *mapping = mmap(NULL, 65536, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  munmap(mapping, 65536);
  free(announce((char *)mapping + 4096 + 32));
  return 0;
}
