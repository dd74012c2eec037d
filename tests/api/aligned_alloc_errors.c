/* aligned_alloc refuses what is no power of two, and takes a size that is no multiple. */
#include "names.h"

int main(void) {
  static const size_t bad[] = {0, 3, 24, 100, 4097, SIZE_MAX};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    errno = 0;
    CHECK(opaque(aligned_alloc(opaque_size(bad[i]), 64)) == NULL);
    CHECK_EQ(errno, EINVAL);
  }
  for (size_t alignment = 1; alignment <= 4096; alignment *= 2) {
    void *block = opaque(aligned_alloc(opaque_size(alignment), 3 * alignment + 1));
    CHECK(block != NULL);
    CHECK_EQ((uintptr_t)block % alignment, 0);
    free(block);
  }
  return 0;
}
