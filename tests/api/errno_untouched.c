// builds: fast checking linked static
/* errno stays as it was when a call succeeds, and always when memory is freed: callers free on
 * their error path and report errno afterwards. */
#include "names.h"

#define MARK 4242
#define KEEPS(call) (errno = MARK, (call), CHECK(errno == MARK))

int main(void) {
  static const size_t sizes[] = {0, 1, 100, 5000, 70000, 3 * 1024 * 1024, 200 * 1024 * 1024};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    void *block, *other;
    KEEPS(block = opaque(malloc(sizes[i])));
    KEEPS(block = opaque(realloc(block, sizes[i] + 1)));
    KEEPS(block = opaque(realloc(block, sizes[i] * 2 + 1)));
    KEEPS(malloc_usable_size(block));
    KEEPS(free(block));
    KEEPS(block = opaque(calloc(1, sizes[i])));
    KEEPS(block = opaque(realloc(block, 0)));
    CHECK(block == NULL);
    KEEPS(block = opaque(aligned_alloc(8192, sizes[i])));
    KEEPS(CHECK(posix_memalign(&other, 64, sizes[i]) == 0));
    KEEPS(free(block));
    KEEPS(free(other));
  }
  KEEPS(free(opaque(NULL)));
  KEEPS(malloc_trim(0));
  return 0;
}
