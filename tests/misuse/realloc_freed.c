// build: both
// expect: loam: {double free of 0x[0-9a-f]+|invalid pointer 0x[0-9a-f]+ given to realloc} by MODULE{.*}
/* realloc of a small block that is free */
#include "crime.h"

int main(void) {
  void *block = malloc(100);
  free(block);
  opaque(realloc(announce(block), 200));
  return 0;
}
