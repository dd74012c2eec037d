// windows: yes
/* A block that grows step by step and shrinks again, with a neighbour in the way at each step. */
#include "names.h"

static unsigned char *resize(unsigned char *block, size_t old_size, size_t size) {
  void *neighbour = opaque(malloc(size));
  block = opaque(realloc(block, size));
  CHECK(block != NULL);
  size_t smaller = old_size < size ? old_size : size;
  check_filled(block, smaller > 5000 ? smaller - 5000 : 0, smaller, 7);
  if (size > old_size) fill(block, old_size, size, 7);
  free(neighbour);
  return block;
}

int main(void) {
  unsigned char *block = NULL;
  size_t size = 0, next;
  for (next = 1; next < 8 * MIB; next = next + next / 7 + 13) {
    block = resize(block, size, next);
    size = next;
  }
  check_filled(block, 0, size, 7);
  for (next = size; next > 1; next = next - next / 9 - 1) {
    block = resize(block, size, next);
    size = next;
  }
  free(block);
  return 0;
}
