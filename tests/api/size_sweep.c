// builds: fast checking linked static
/* Every small size: aligned to 16, at least as large as asked, at most an eighth
 * wasted, or, from 16 KiB on, less than an OS page, or a fifth of the pages if a block was freed that
 * is so much longer. A class's first blocks, 4 KiB of them or four, may be those of a class that is
 * a quarter or 16 bytes larger, and the first four up to 2 KiB those of the next power of two, from
 * 128 bytes on. */
#include "names.h"

enum { FIRST_BYTES = 4096, FIRST_MIN_COUNT = 4 };

static size_t most_usable(size_t size) {
  if (size <= 128) return size == 0 ? 16 : (size + 15) / 16 * 16;
  size_t page = (size_t)getpagesize(), pages = (size + page - 1) / page;
  return size > 16 * KIB ? (pages + (pages + 1) / 5) * page : size + size / 8;
}

/* The same of a class's block that is the first but `i`. */
static size_t most_usable_of_first(size_t size, size_t i) {
  size_t most = most_usable(size), power = 128;
  most += most / 4 > 16 ? most / 4 : 16;
  while (power < size) power *= 2;
  return size <= 2048 && i < FIRST_MIN_COUNT && power > most ? power : most;
}

static void *take_checked(size_t size, size_t most) {
  void *block = opaque(malloc(size));
  CHECK(block != NULL);
  CHECK_EQ((uintptr_t)block % 16, 0);
  size_t usable = malloc_usable_size(block);
  CHECK_THAT(usable, >=, size);
  CHECK_THAT(usable, <=, most);
  memset(block, 0xa5, size);
  return block;
}

int main(void) {
  static void *first[FIRST_BYTES / 16];
  for (size_t size = 0; size <= 32 * KIB; size++) {
    size_t most = most_usable(size), count = FIRST_BYTES / (size < 16 ? 16 : size);
    if (count < FIRST_MIN_COUNT) count = FIRST_MIN_COUNT;
    for (size_t i = 0; i < count; i++)
      first[i] = take_checked(size, most_usable_of_first(size, i));
    free(take_checked(size, most));
    for (size_t i = 0; i < count; i++) free(first[i]);
  }
  return 0;
}
