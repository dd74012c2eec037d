/* C23's sized frees take the requested size and alignment, and NULL. */
#include "names.h"

int main(void) {
  CHECK(free_sized != NULL && free_aligned_sized != NULL);
  static const size_t sizes[] = {0, 1, 100, 1024, 30000, 70000, 2 * 1024 * 1024, 80 * 1024 * 1024};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    for (int round = 0; round < 100; round++) {
      free_sized(opaque(malloc(sizes[i])), sizes[i]);
      free_sized(opaque(calloc(1, sizes[i])), sizes[i]);
      free_sized(opaque(realloc(opaque(malloc(5)), sizes[i] + 1)), sizes[i] + 1);
      free_aligned_sized(opaque(aligned_alloc(16, sizes[i])), 16, sizes[i]);
      free_aligned_sized(opaque(aligned_alloc(64, sizes[i])), 64, sizes[i]);
      free_aligned_sized(opaque(aligned_alloc(65536, sizes[i])), 65536, sizes[i]);
    }
  }
  errno = 55;
  free_sized(opaque(NULL), 10);
  free_aligned_sized(opaque(NULL), 64, 10);
  CHECK_EQ(errno, 55);
  return 0;
}
