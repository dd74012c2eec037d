// windows: yes
/* A heap's block that realloc moves leaves its heap, however large it is and however it moves: it
 * outlives the heap. */
#include "names.h"

static void move_out(size_t size, size_t larger) {
  struct loam_heap *heap = loam_heap_new();
  unsigned char *block = opaque(loam_heap_malloc(heap, size)), *moved = block;
  CHECK(block != NULL);
  fill(block, 0, 100, 5);
  fill(block, size - 100, size, 5);
  for (; moved == block && larger < 400 * MIB; larger *= 2) {
    /* In the way of growth in place. */
    void *behind = opaque(loam_heap_malloc(heap, size));
    moved = opaque(realloc(block, larger));
    CHECK(moved != NULL && behind != NULL);
  }
  if (moved == block) { /* the system could always make it longer: it is the heap's still */
    loam_heap_destroy(heap);
    return;
  }
  loam_heap_destroy(heap);
  void *others[8];
  for (int i = 0; i < 8; i++) touch(others[i] = opaque(malloc(size)), size);
  check_filled(moved, 0, 100, 5);
  check_filled(moved, size - 100, size, 5);
  for (int i = 0; i < 8; i++) free(others[i]);
  free(moved);
}

int main(void) {
  static const size_t sizes[] = {200,     3000,    20000,    100000,  400000,
                                 2 * MIB, 5 * MIB, 20 * MIB, 50 * MIB};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    move_out(sizes[i], sizes[i] + sizes[i] / 8);
    move_out(sizes[i], sizes[i] * 3);
  }
  return 0;
}
