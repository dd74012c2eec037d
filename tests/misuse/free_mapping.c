// build: both
// expect: loam: invalid pointer 0xADDR given to free by MODULE: not a block of loam or of the C library
/* free of memory that the program mapped itself */
#include "../reserved_memory.h"
#include "crime.h"

int main(void) {
  char *mapping = memory_reserve(65536, 65536);
  memory_commit(mapping, 65536);
  free(announce(mapping + 16));
  return 0;
}
