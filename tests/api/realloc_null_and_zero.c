/* realloc(NULL, n) allocates; realloc(p, 0) frees p, returns NULL and does not touch errno. */
#include "names.h"

int main(void) {
  unsigned char *block = opaque(realloc(NULL, 1000));
  CHECK(block != NULL);
  fill(block, 0, 1000, 1);
  errno = 33;
  CHECK(opaque(realloc(block, opaque_size(0))) == NULL);
  CHECK_EQ(errno, 33);
  void *empty = opaque(realloc(NULL, opaque_size(0)));
  CHECK(empty != NULL);
  free(empty);
  CHECK(opaque(reallocarray(opaque(malloc(10)), opaque_size(0), 8)) == NULL);
  CHECK_EQ(errno, 33);

  /* The block is really freed: a leak of 4 GiB would show. */
  touch(opaque(realloc(opaque(malloc(MIB)), 2 * MIB)), 1);
  size_t before = resident_bytes();
  for (int i = 0; i < 4096; i++) {
    unsigned char *large = opaque(malloc(MIB));
    large[0] = large[MIB / 2] = 1;
    CHECK(opaque(realloc(large, opaque_size(0))) == NULL);
  }
  CHECK_THAT(resident_bytes(), <, before + 4 * MIB);
  return 0;
}
