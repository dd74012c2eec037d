// builds: fast checking linked static
/* Every small size: aligned to 16, at least as large as asked, at most an eighth wasted. */
#include "names.h"

int main(void) {
  for (size_t size = 0; size <= 32 * KIB; size++) {
    void *block = opaque(malloc(size));
    CHECK(block != NULL);
    CHECK_EQ((uintptr_t)block % 16, 0);
    size_t usable = malloc_usable_size(block);
    CHECK_THAT(usable, >=, size);
    if (size > 128) CHECK_THAT((usable - size) * 8, <=, size);
    if (size <= 128 && size > 0) CHECK_THAT(usable, <=, (size + 15) / 16 * 16);
    memset(block, 0xa5, size);
    free(block);
  }
  return 0;
}
