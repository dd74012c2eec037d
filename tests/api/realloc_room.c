// builds: fast linked
/* A small block that grows in short steps moves once for an eighth, not for each size class; and
 * gets no more room than that, so that what grows only once wastes little. */
#include "names.h"

static int moves_from(size_t from, size_t to) {
  char *block = opaque(malloc(from));
  int moves = 0;
  for (size_t size = from + 16; size <= to; size += 16) {
    uintptr_t before = (uintptr_t)block;
    block = opaque(realloc(block, size));
    CHECK(block != NULL);
    moves += (uintptr_t)block != before;
  }
  free(block);
  return moves;
}

static void check_room_after_one_step(size_t from) {
  void *block = opaque(malloc(from));
  size_t before = malloc_usable_size(block);
  block = opaque(realloc(block, before + 1));
  size_t room = malloc_usable_size(block);
  CHECK_THAT(room, >=, before + before / 8);
  CHECK_THAT(room, <=, (before + before / 8) * 5 / 4); /* a class without blocks borrows */
  free(block);
}

/* Guarded blocks, which move sooner, and those that a class's first ones are instead of its own. */
static void use_up_first_blocks(void) {
  for (int i = 0; i < 1000; i++) opaque(malloc(100));
  for (size_t size = 16; size <= 2048; size += 16)
    for (int i = 0; i < 4; i++) opaque(malloc(size));
}

int main(void) {
  use_up_first_blocks();
  CHECK_THAT(moves_from(128, 1024), <=, 17); /* 56 classes */
  CHECK_THAT(moves_from(1024, 8192), <=, 24);
  for (size_t from = 128; from < 8192; from *= 2) check_room_after_one_step(from);
  return 0;
}
