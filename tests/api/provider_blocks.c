// windows: yes
// builds: fast checking linked static
/* Every block of a heap with a page provider is in the provider's memory, whatever its size and
 * wherever it is freed, and no other block ever is; destroy releases everything. */
#include "provider.h"
#include "threads.h"

enum { BLOCKS = 300, ROUNDS = 4 };
static struct strict strict;
static struct loam_heap *heap;
static unsigned char *blocks[BLOCKS];

static size_t size_of(size_t i) {
  const size_t sizes[] = {1, 40, 700, 3000, 12000, 33000, 100000, 250000, 400000, 2 * MIB};
  if (i % 100 == 50) return 40 * MIB;
  return sizes[i % 10] + i;
}

static size_t head(size_t size) { return size < 200 ? size : 200; }

static void allocate(size_t i) {
  size_t size = size_of(i);
  switch (i % 3) {
  case 0: blocks[i] = opaque(loam_heap_malloc(heap, size)); break;
  case 1:
    blocks[i] = opaque(loam_heap_calloc(heap, 1, size));
    check_zero(blocks[i], head(size));
    for (size_t at = 0; at < size; at += 1000) CHECK_EQ(blocks[i][at], 0);
    break;
  default: blocks[i] = opaque(loam_heap_memalign(heap, (size_t)16 << i % 12, size));
  }
  CHECK(blocks[i] != NULL);
  CHECK(strict_has(&strict, blocks[i]));
  CHECK(strict_has(&strict, blocks[i] + size - 1));
  CHECK_THAT(malloc_usable_size(blocks[i]), >=, size);
  fill(blocks[i], 0, head(size), (unsigned)i);
  touch(blocks[i] + head(size), size - head(size));
}

static void free_one(size_t i, int way) {
  check_filled(blocks[i], 0, head(size_of(i)), (unsigned)i);
  if (way % 3 == 0) free(blocks[i]);
  else if (way % 3 == 1) loam_free(blocks[i]);
  else loam_heap_free(heap, blocks[i]);
}

static void *free_some(void *unused) {
  for (size_t i = 0; i < BLOCKS; i += 2) free_one(i, (int)i);
  return unused;
}

static void ordinary_blocks_are_elsewhere(void) {
  static void *ordinary[300];
  for (size_t i = 0; i < 300; i++) {
    ordinary[i] = opaque(malloc(size_of(i)));
    CHECK(!strict_has(&strict, ordinary[i]));
  }
  for (size_t i = 0; i < 300; i++) free(ordinary[i]);
}

static void *ordinary_blocks_in_thread(void *unused) {
  ordinary_blocks_are_elsewhere();
  return unused;
}

static void use_heap(void) {
  heap = strict_heap(&strict);
  CHECK_EQ(strict.call_count, 0); /* nothing is reserved before the first block */
  for (int round = 0; round < ROUNDS; round++) {
    for (size_t i = 0; i < BLOCKS; i++) allocate(i);
    ordinary_blocks_are_elsewhere();
    if (round % 2 == 0) run_in_thread(free_some, NULL);
    else free_some(NULL);
    ordinary_blocks_are_elsewhere();
    run_in_thread(ordinary_blocks_in_thread, NULL);
    if (round == 2) loam_heap_free_all(heap);
    else
      for (size_t i = 1; i < BLOCKS; i += 2) free_one(i, round);
  }
  for (size_t i = 0; i < BLOCKS; i++) allocate(i);
  loam_heap_destroy(heap);
  strict_check_all_released(&strict);
}

/* A heap that has had a provider serves without one, and the other way round. */
static void the_next_heap_has_none_of_it(void) {
  struct loam_heap *next = loam_heap_new();
  CHECK(next == heap);
  void *block = opaque(loam_heap_malloc(next, 100)), *large = opaque(loam_heap_malloc(next, MIB));
  CHECK(!strict_has(&strict, block) && !strict_has(&strict, large));
  CHECK_EQ(strict.reservation_count, 0);
  loam_heap_destroy(next);
}

int main(void) {
  for (int i = 0; i < 2; i++) {
    strict_start(&strict);
    errno = 1234;
    use_heap();
    the_next_heap_has_none_of_it();
    CHECK_EQ(errno, 1234);
  }
  return 0;
}
