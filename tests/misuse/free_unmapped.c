// build: both
// expect: loam: invalid pointer 0xADDR given to free by MODULE: not a block of loam or of the C library
/* free of an address where nothing is mapped */
#include "../reserved_memory.h"
#include "crime.h"

int main(void) {
  char *mapping = memory_reserve(65536, 65536);
  memory_release(mapping, 65536);
  free(announce(mapping + 4096 + 32));
  return 0;
}
