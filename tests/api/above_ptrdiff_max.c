/* No function gives a block above PTRDIFF_MAX; each fails with ENOMEM. */
#include "names.h"

#define CHECK_ENOMEM(call) \
  (errno = 0, CHECK(opaque(call) == NULL), CHECK_EQ_EXPRESSION(errno, ENOMEM))
#define CHECK_EQ_EXPRESSION(left, right) CHECK((left) == (right))

static void check_size(size_t size) {
  size = opaque_size(size);
  CHECK_ENOMEM(malloc(size));
  CHECK_ENOMEM(calloc(1, size));
  CHECK_ENOMEM(calloc(size, 1));
  CHECK_ENOMEM(realloc(NULL, size));
  CHECK_ENOMEM(reallocarray(NULL, size, 1));
  CHECK_ENOMEM(aligned_alloc(16, size));
  CHECK_ENOMEM(aligned_alloc(4096, size));
  CHECK_ENOMEM(aligned_alloc(MIB, size));
  CHECK_ENOMEM(memalign(64, size));
  CHECK_ENOMEM(valloc(size));
  CHECK_ENOMEM(pvalloc(size));
  void *result = &result;
  CHECK_EQ(posix_memalign(&result, 64, size), ENOMEM);
  CHECK(result == &result);
  unsigned char *old = opaque(malloc(50));
  fill(old, 0, 50, 9);
  CHECK_ENOMEM(realloc(old, size));
  check_filled(old, 0, 50, 9);
  free(old);
}

int main(void) {
  check_size((size_t)PTRDIFF_MAX + 1);
  check_size((size_t)PTRDIFF_MAX + 4096);
  check_size(SIZE_MAX - 4096);
  check_size(SIZE_MAX - 15);
  check_size(SIZE_MAX);
  /* The largest lawful size cannot be had either, but must fail in the same way. */
  check_size(PTRDIFF_MAX);
  /* An alignment that is too large for the address space. */
  CHECK_ENOMEM(aligned_alloc(SIZE_MAX / 4 + 1, opaque_size(64)));
  return 0;
}
