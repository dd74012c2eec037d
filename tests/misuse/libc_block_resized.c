// build: both
// status: 0
// windows: no
/* realloc of a block of the C library's heap keeps its contents. */
#include "libc_blocks.h"

int main(void) {
  malloc_function *libc_malloc = (malloc_function *)libc_function("libc_malloc");
  for (size_t size = 16; size < 5 * MIB; size = size * 3 + 5) {
    unsigned char *block = opaque(libc_malloc(size));
    fill(block, 0, size, 1);
    block = opaque(realloc(block, size * 2));
    CHECK(block != NULL);
    check_filled(block, 0, size, 1);
    block = opaque(realloc(block, size / 2));
    check_filled(block, 0, size / 2, 1);
    free(block);
    CHECK(opaque(realloc(opaque(libc_malloc(size)), 0)) == NULL);
  }
  return 0;
}
