// build: both
// status: 0
// windows: no
/* Blocks of the C library's heap are handed to it by loam's free. */
#include "libc_blocks.h"

int main(void) {
  malloc_function *libc_malloc = (malloc_function *)libc_function("libc_malloc");
  strdup_function *libc_strdup = (strdup_function *)libc_function("libc_strdup");
  aligned_function *libc_aligned = (aligned_function *)libc_function("libc_aligned");
  for (int round = 0; round < 100; round++) {
    for (size_t size = 1; size < 10 * MIB; size = size * 3 + 5) {
      void *block = opaque(libc_malloc(size));
      memset(block, 1, size);
      free(block);
    }
    free(opaque(libc_strdup("a name that a plugin hands to its host")));
    free(opaque(libc_aligned(4096, 100)));
  }
  return 0;
}
