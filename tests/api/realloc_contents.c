// builds: fast checking linked static
// windows: yes
/* realloc keeps the contents, from and to every kind of block. */
#include "names.h"

static const size_t sizes[] = {1,     15,     16,     17,      100,     500,     1024,    1025,
                               4000,  8192,   20000,  32768,   32769,   65536,   100000,  300000,
                               1 << 20, (1 << 20) + 1, 3 << 20, 9 << 20, 33 << 20};
enum { COUNT = sizeof sizes / sizeof *sizes };

int main(void) {
  for (unsigned from = 0; from < COUNT; from++) {
    for (unsigned to = 0; to < COUNT; to++) {
      size_t smaller = sizes[from] < sizes[to] ? sizes[from] : sizes[to];
      /* Both ends are enough for what is large; the middle is copied with them. */
      size_t head = smaller < 20000 ? smaller : 20000, tail = smaller - (smaller < 100 ? smaller : 100);
      unsigned char *block = opaque(malloc(sizes[from]));
      fill(block, 0, head, from);
      fill(block, tail, smaller, from);
      block = opaque(realloc(block, sizes[to]));
      CHECK(block != NULL);
      CHECK_EQ((uintptr_t)block % 16, 0);
      CHECK_THAT(malloc_usable_size(block), >=, sizes[to]);
      check_filled(block, 0, head, from);
      check_filled(block, tail, smaller, from);
      block[sizes[to] - 1] = 1;
      free(block);
    }
  }
  return 0;
}
