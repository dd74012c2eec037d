/* A product that overflows fails with ENOMEM, and reallocarray then keeps the old block. */
#include "names.h"

static void check_fails(size_t count, size_t size) {
  errno = 0;
  CHECK(opaque(calloc(opaque_size(count), size)) == NULL);
  CHECK_EQ(errno, ENOMEM);

  errno = 0;
  CHECK(opaque(reallocarray(NULL, opaque_size(count), size)) == NULL);
  CHECK_EQ(errno, ENOMEM);

  unsigned char *old = opaque(malloc(100));
  fill(old, 0, 100, 3);
  errno = 0;
  CHECK(opaque(reallocarray(old, opaque_size(count), size)) == NULL);
  CHECK_EQ(errno, ENOMEM);
  check_filled(old, 0, 100, 3);
  free(old);
}

int main(void) {
  check_fails(SIZE_MAX, 2);
  check_fails(2, SIZE_MAX);
  check_fails(SIZE_MAX / 2 + 1, 2);           /* the product is 0 modulo the word */
  check_fails(SIZE_MAX / 16 + 2, 16);         /* and here it is 16 */
  check_fails(SIZE_MAX, SIZE_MAX);
  unsigned char *array = opaque(reallocarray(NULL, 10, 10));
  fill(array, 0, 100, 5);
  array = opaque(reallocarray(array, 1000, 10));
  check_filled(array, 0, 100, 5);
  free(array);
  return 0;
}
