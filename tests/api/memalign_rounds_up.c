/* memalign takes any alignment: what is no power of two is rounded up, as in glibc. */
#include "names.h"

#include <dlfcn.h>

typedef void *memalign_function(size_t alignment, size_t size);

static size_t rounded_up(size_t alignment) {
  size_t power = 1;
  while (power < alignment) power *= 2;
  return power;
}

static void check_rounding(memalign_function *aligned) {
  static const size_t alignments[] = {0, 3, 5, 17, 24, 33, 100, 1000, 4097, 100000, 3 * MIB};
  static const size_t sizes[] = {0, 1, 24, 1000, 5000, 300000, 40 * MIB};
  for (size_t a = 0; a < sizeof alignments / sizeof *alignments; a++) {
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
      size_t size = sizes[s];
      unsigned char *block = opaque(aligned(opaque_size(alignments[a]), size));
      CHECK(block != NULL);
      CHECK_EQ((uintptr_t)block % rounded_up(alignments[a]), 0);
      if (size > 0) block[0] = block[size - 1] = 1;
      free(block);
    }
  }
}

/* Powers of two that no address space has room for, and what is above all of them. */
static void check_too_large(memalign_function *aligned) {
  errno = 0;
  CHECK(opaque(aligned(opaque_size(SIZE_MAX / 2 - 5), 1)) == NULL);
  CHECK_EQ(errno, ENOMEM);
  errno = 0;
  CHECK(opaque(aligned(opaque_size(SIZE_MAX / 2 + 2), 1)) == NULL);
  CHECK_EQ(errno, EINVAL);
  errno = 0;
  CHECK(opaque(aligned(opaque_size(SIZE_MAX), 1)) == NULL);
  CHECK_EQ(errno, EINVAL);
}

int main(void) {
  check_rounding(memalign);
  check_too_large(memalign);
  memalign_function *libc = (memalign_function *)dlsym(RTLD_DEFAULT, "__libc_memalign");
  if (libc != NULL) {
    check_rounding(libc);
    check_too_large(libc);
  }
  return 0;
}
