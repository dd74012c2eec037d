// build: both
// expect: loam: page provider: reserve returned 0xADDR, which is not aligned to {\d+}
/* a page provider's reserve does not align what it returns */
#include "../provider.h"
#include "crime.h"

static void *reserve(void *context, size_t size, size_t alignment) {
  return announce((char *)strict_reserve(context, size, alignment) + alignment / 2);
}

int main(void) {
  static struct strict strict;
  strict_start(&strict);
  strict.provider.reserve = reserve;
  return loam_heap_malloc(strict_heap(&strict), 100) == NULL;
}
