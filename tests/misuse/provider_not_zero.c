// build: both
// expect: loam: page provider: memory at 0xADDR is not zero after commit
/* a page provider reserves the same memory again without clearing it */
#include "../provider.h"
#include "crime.h"

static char *memory;

static void *reserve(void *context, size_t size, size_t alignment) {
  if (memory != NULL) return announce(memory);
  memory = strict_reserve(context, size, alignment);
  memory_commit(memory, size);
  return memory;
}

static void keep(void *context, void *address, size_t size) {
  (void)context, (void)address, (void)size;
}

int main(void) {
  static struct strict strict;
  strict_start(&strict);
  strict.provider = (struct loam_page_provider){reserve, NULL, NULL, keep, &strict};
  struct loam_heap *heap = strict_heap(&strict);
  CHECK(loam_heap_malloc(heap, 100) != NULL);
  loam_heap_destroy(heap);
  return loam_heap_malloc(strict_heap(&strict), 100) == NULL;
}
