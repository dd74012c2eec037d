// windows: yes
/* All usable bytes may be written, and NULL has none. */
#include "names.h"

int main(void) {
  CHECK_EQ(malloc_usable_size(opaque(NULL)), 0);
  static const size_t sizes[] = {0, 1, 17, 100, 1000, 10000, 50000, 1 << 20, 40 << 20};
  unsigned char *blocks[sizeof sizes / sizeof *sizes];
  for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    blocks[i] = opaque(malloc(sizes[i]));
    fill(blocks[i], 0, malloc_usable_size(blocks[i]), i);
  }
  for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    check_filled(blocks[i], 0, malloc_usable_size(blocks[i]), i);
    free(blocks[i]);
  }
  return 0;
}
