// build: both
// status: 0
// windows: no
/* malloc_usable_size of a block of the C library's heap. */
#include "libc_blocks.h"

int main(void) {
  malloc_function *libc_malloc = (malloc_function *)libc_function("libc_malloc");
  for (size_t size = 1; size < 5 * MIB; size = size * 3 + 5) {
    void *block = opaque(libc_malloc(size));
    CHECK_THAT(malloc_usable_size(block), >=, size);
    memset(block, 1, malloc_usable_size(block));
    free(block);
  }
  return 0;
}
