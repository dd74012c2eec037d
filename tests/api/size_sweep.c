// builds: fast checking linked static
/* Every small size: aligned to 16, at least as large as asked, at most an eighth
 * wasted, or, from 16 KiB on, less than an OS page. */
#include "names.h"

#include <stdbool.h>

int main(void) {
  for (size_t size = 0; size <= 32 * KIB; size++) {
    void *block = opaque(malloc(size));
    CHECK(block != NULL);
    CHECK_EQ((uintptr_t)block % 16, 0);
    size_t usable = malloc_usable_size(block);
    CHECK_THAT(usable, >=, size);
    bool eighth = (usable - size) * 8 <= size, page = usable - size < (size_t)getpagesize();
    if (size > 128) CHECK(eighth || (size > 16 * KIB && page));
    if (size <= 128 && size > 0) CHECK_THAT(usable, <=, (size + 15) / 16 * 16);
    memset(block, 0xa5, size);
    free(block);
  }
  return 0;
}
