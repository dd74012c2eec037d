// windows: yes
/* What is refused, and providers that leave out what they need not have. */
#include "provider.h"

static struct strict strict;

static void refused(const struct loam_page_provider *provider) {
  errno = 0;
  CHECK(loam_heap_new_with_provider(provider) == NULL);
  CHECK_EQ(errno, EINVAL);
  errno = 1234;
  CHECK_EQ(loam_set_page_provider(provider), EINVAL);
  CHECK_EQ(errno, 1234);
}

static void *reserve_usable(void *context, size_t size, size_t alignment) {
  char *memory = strict_reserve(context, size, alignment);
  memory_commit(memory, size);
  return memory;
}

/* A provider of ordinary mappings: it reserves and releases. */
static void the_least_that_does(void) {
  struct loam_page_provider least = {reserve_usable, NULL, NULL, strict_release, &strict};
  strict_start(&strict);
  struct loam_heap *heap = loam_heap_new_with_provider(&least);
  memset(&least, 0, sizeof least); /* it has been copied */
  for (size_t size = 1; size < 100 * MIB; size = size * 2 + 1) {
    char *block = opaque(loam_heap_calloc(heap, 1, size));
    CHECK(strict_has(&strict, block));
    for (size_t i = 0; i < size; i += 1000) CHECK_EQ(block[i], 0);
    memset(block, 1, size);
    if (size % 3 == 0) loam_heap_free(heap, block);
  }
  loam_heap_destroy(heap);
  strict_check_all_released(&strict);
}

/* An address that the table of tags does not cover goes back, and the request fails. */
static void *reserve_far_away(void *context, size_t size, size_t alignment) {
  strict_reserve(context, size, alignment);
  return (void *)((uintptr_t)-1 / 2 & ~(alignment - 1));
}

static size_t far_released;
static void release_far_away(void *context, void *address, size_t size) {
  (void)context;
  far_released += (uintptr_t)address > UINTPTR_MAX / 4 ? size : 0;
}

static void addresses_out_of_range(void) {
  struct loam_page_provider distant = {reserve_far_away, NULL, NULL, release_far_away, &strict};
  strict_start(&strict);
  struct loam_heap *heap = loam_heap_new_with_provider(&distant);
  errno = 0;
  CHECK(opaque(loam_heap_malloc(heap, 10)) == NULL);
  CHECK_EQ(errno, ENOMEM);
  CHECK(opaque(loam_heap_malloc(heap, 100 * MIB)) == NULL);
  CHECK_THAT(far_released, >, 100 * MIB);
  loam_heap_destroy(heap);
}

int main(void) {
  struct loam_page_provider none = {0};
  strict_start(&strict);
  refused(NULL);
  refused(&none);
  none.reserve = strict_reserve;
  refused(&none);
  none.reserve = NULL, none.release = strict_release;
  refused(&none);
  the_least_that_does();
  if (sizeof(void *) == 8) addresses_out_of_range();
  return 0;
}
