// windows: yes
/* visit reports each block in use once, with its usable size, and free ones as free. */
#include "names.h"

enum { BLOCKS = 2000 };
static unsigned char *blocks[BLOCKS];
static size_t seen[BLOCKS], in_use_count, free_count, strange_count;

static size_t size_of(size_t i) {
  return i == 7 ? 90 * MIB : i % 200 == 8 ? 500000 : i % 20 == 9 ? 60000 : 1 + i * 3;
}

static void visitor(void *context, void *block, size_t size, int in_use) {
  CHECK(context == &seen);
  void *proof = opaque(malloc(100)); /* which a visitor may do */
  free(proof);
  in_use_count += in_use == 1, free_count += in_use == 0;
  for (size_t i = 0; i < BLOCKS; i++)
    if (blocks[i] == block) {
      CHECK_EQ(size, loam_malloc_usable_size(block));
      CHECK_THAT(size, >=, size_of(i));
      CHECK_EQ(in_use, 1);
      seen[i]++;
      return;
    }
  strange_count += in_use == 1;
}

static void visit(struct loam_heap *heap) {
  memset(seen, 0, sizeof seen);
  in_use_count = free_count = strange_count = 0;
  loam_heap_visit(heap, visitor, &seen);
  CHECK_EQ(strange_count, 0);
}

int main(void) {
  struct loam_heap *heap = loam_heap_new();
  visit(heap);
  CHECK_EQ(in_use_count + free_count, 0);
  for (size_t i = 0; i < BLOCKS; i++) {
    if (i % (BLOCKS / 4) == 0) sleep_ms(50); /* so that ticks put free blocks aside */
    blocks[i] = opaque(loam_heap_malloc(heap, size_of(i)));
  }
  visit(heap);
  CHECK_EQ(in_use_count, BLOCKS);
  for (size_t i = 0; i < BLOCKS; i++) CHECK_EQ(seen[i], 1);
  for (size_t i = 0; i < BLOCKS; i += 2) {
    free(blocks[i]);
    blocks[i] = NULL;
  }
  visit(heap);
  CHECK_EQ(in_use_count, BLOCKS / 2);
  CHECK_THAT(free_count, >, BLOCKS / 4);
  for (size_t i = 0; i < BLOCKS; i++) CHECK_EQ(seen[i], i % 2);
  loam_heap_free_all(heap);
  visit(heap);
  CHECK_EQ(in_use_count + free_count, 0);
  loam_heap_destroy(heap);
  return 0;
}
