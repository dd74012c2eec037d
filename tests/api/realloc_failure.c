// windows: yes
/* realloc that fails leaves the block as it was. */
#include "names.h"

int main(void) {
  static const size_t sizes[] = {1, 100, 30000, 100000, 2 * 1024 * 1024, 64 * 1024 * 1024};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    size_t filled = sizes[i] < 10000 ? sizes[i] : 10000;
    unsigned char *block = opaque(malloc(sizes[i]));
    CHECK(block != NULL);
    fill(block, 0, filled, (unsigned)i);
    block[sizes[i] - 1] = filled == sizes[i] ? block[sizes[i] - 1] : 0x5a;
    errno = 0;
    /* Lawful as a size, but more than an address space has room for. */
    CHECK(opaque(realloc(block, opaque_size(PTRDIFF_MAX - 1 * MIB))) == NULL);
    CHECK_EQ(errno, ENOMEM);
    check_filled(block, 0, filled, (unsigned)i);
    if (filled != sizes[i]) CHECK_EQ(block[sizes[i] - 1], 0x5a);
    CHECK_THAT(malloc_usable_size(block), >=, sizes[i]);
    free(block);
  }
  return 0;
}
