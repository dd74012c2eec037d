// build: both
// expect: loam: double free of 0xADDR by MODULE
/* a large block of a heap with a page provider is freed twice */
#include "../provider.h"
#include "crime.h"

int main(void) {
  static struct strict strict;
  strict_start(&strict);
  void *block = announce(loam_heap_malloc(strict_heap(&strict), 300000));
  free(block);
  free(block);
  return 0;
}
