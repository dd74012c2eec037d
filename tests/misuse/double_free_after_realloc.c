// build: both
// expect: loam: double free of 0xADDR by MODULE
/* a block is freed that realloc has moved */
#include "crime.h"

int main(void) {
  void *block = malloc(100);
  void *moved = opaque(realloc(block, 20000));
  if (moved == block) return 0;
  free(announce(block));
  return 0;
}
