/* Large blocks are rounded up to OS pages and no further. */
#include "names.h"

static void check_size(size_t size) {
  size_t os_page = (size_t)sysconf(_SC_PAGESIZE);
  unsigned char *block = opaque(malloc(size));
  CHECK(block != NULL);
  CHECK_EQ((uintptr_t)block % 16, 0);
  size_t usable = malloc_usable_size(block);
  CHECK_THAT(usable, >=, size);
  CHECK_THAT(usable - size, <, os_page);
  block[0] = block[size - 1] = block[size / 2] = 1;
  free(block);
}

int main(void) {
  for (size_t size = 256 * KIB + 1; size < 4 * MIB; size += 12345) check_size(size);
  for (size_t size = 4 * MIB; size <= 1024 * MIB; size *= 2) {
    check_size(size - 1);
    check_size(size);
    check_size(size + 1);
  }
  return 0;
}
