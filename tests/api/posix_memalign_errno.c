/* posix_memalign returns its error and leaves errno and *result alone. */
#include "names.h"

int main(void) {
  static const size_t bad[] = {0, 1, 2, 3, sizeof(void *) / 2, 24, 100, 4097, SIZE_MAX, (SIZE_MAX >> 1) - 7};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    void *result = &result;
    errno = 77;
    CHECK_EQ(posix_memalign(&result, opaque_size(bad[i]), 64), EINVAL);
    CHECK(result == &result);
    CHECK_EQ(errno, 77);
  }
  void *result = &result;
  errno = 77;
  for (size_t alignment = sizeof(void *); alignment <= 1 << 20; alignment *= 2) {
    CHECK_EQ(posix_memalign(&result, alignment, opaque_size(SIZE_MAX - 64)), ENOMEM);
    CHECK_EQ(posix_memalign(&result, alignment, opaque_size(PTRDIFF_MAX)), ENOMEM);
    CHECK(result == &result);
    CHECK_EQ(errno, 77);
  }
  CHECK_EQ(posix_memalign(&result, sizeof(void *), 64), 0);
  CHECK(result != &result);
  free(opaque(result));
  return 0;
}
