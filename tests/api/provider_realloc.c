// windows: yes
/* realloc in a heap with a page provider stays in the provider's memory, in place or not; by
 * another name a block that has to move leaves the heap, and its old memory is the heap's again. */
#include "provider.h"

static struct strict strict;

static size_t capped(size_t size) { return size < 2000 ? size : 2000; }

static void in_the_heap(struct loam_heap *heap) {
  size_t size = 10;
  unsigned char *block = opaque(loam_heap_realloc(heap, NULL, size));
  fill(block, 0, size, 7);
  for (int round = 0; round < 4; round++)
    for (size_t next = round % 2 == 0 ? 20 : 80 * MIB; next >= 20 && next < 90 * MIB;
         next = round % 2 == 0 ? next * 5 / 2 : next * 3 / 5) {
      block = opaque(loam_heap_realloc(heap, block, next));
      CHECK(block != NULL && strict_has(&strict, block));
      CHECK_THAT(malloc_usable_size(block), >=, next);
      check_filled(block, 0, capped(size < next ? size : next), 7);
      fill(block, 0, capped(next), 7);
      block[next - 1] = pattern_byte(next - 1, 7);
      size = next;
    }
  loam_heap_free(heap, block);
}

static void out_of_the_heap(struct loam_heap *heap) {
  for (size_t size = 20; size < 90 * MIB; size = size * 3) {
    unsigned char *block = opaque(loam_heap_malloc(heap, size));
    fill(block, 0, capped(size), 3);
    block = opaque(realloc(block, size * 4));
    check_filled(block, 0, capped(size), 3);
    int inside = strict_has(&strict, block), end = strict_has(&strict, block + size * 4 - 1);
    CHECK_EQ(inside, end);
    touch(block, size * 4);
    free(block);
  }
  CHECK_THAT(loam_mallinfo2().hblks, ==, 0);
}

int main(void) {
  strict_start(&strict);
  struct loam_heap *heap = strict_heap(&strict);
  in_the_heap(heap);
  out_of_the_heap(heap);
  loam_heap_destroy(heap);
  strict_check_all_released(&strict);
  return 0;
}
