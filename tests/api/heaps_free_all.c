// windows: yes
// builds: fast checking linked static
/* free_all gives back every block of the heap, of every kind, and no other; then the heap serves
 * again. */
#include "names.h"

enum { ROUNDS = 50, BLOCKS = 400 };

static size_t size_of(size_t i) {
  const size_t sizes[] = {1, 16, 100, 1000, 5000, 20000, 70000, 200000, 300000, 3 * MIB};
  return sizes[i % 10] + i + 10;
}

int main(void) {
  struct loam_heap *heap = loam_heap_new(), *other = loam_heap_new();
  unsigned char *ordinary[BLOCKS], *others[BLOCKS], *blocks[BLOCKS];
  for (size_t i = 0; i < BLOCKS; i++) {
    ordinary[i] = opaque(malloc(size_of(i)));
    others[i] = opaque(loam_heap_malloc(other, size_of(i)));
    fill(ordinary[i], 0, 10, (unsigned)i), fill(others[i], 0, 10, (unsigned)i + 1);
  }
  size_t before = 0;
  for (int round = 0; round < ROUNDS; round++) {
    for (size_t i = 0; i < BLOCKS; i++) {
      blocks[i] = opaque(loam_heap_malloc(heap, size_of(i)));
      CHECK(blocks[i] != NULL);
      blocks[i][size_of(i) - 1] = 3;
      fill(blocks[i], 0, 10, (unsigned)i + 2);
    }
    void *huge = opaque(loam_heap_malloc(heap, 100 * MIB));
    CHECK(huge != NULL);
    for (size_t i = 0; i < BLOCKS; i++) check_filled(blocks[i], 0, 10, (unsigned)i + 2);
    for (size_t i = 0; i < BLOCKS; i += 3) loam_heap_free(heap, blocks[i]);
    loam_heap_free_all(heap);
    loam_heap_free_all(heap); /* of nothing */
    size_t arena = loam_mallinfo2().uordblks;
    if (round == 0) before = arena;
    CHECK_THAT(arena, <=, before);
    CHECK_EQ(loam_mallinfo2().hblks, 0);
  }
  for (size_t i = 0; i < BLOCKS; i++) {
    check_filled(ordinary[i], 0, 10, (unsigned)i), check_filled(others[i], 0, 10, (unsigned)i + 1);
    free(ordinary[i]);
  }
  loam_heap_destroy(other);
  loam_heap_destroy(heap);
  return 0;
}
