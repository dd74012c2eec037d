/* valloc aligns to the OS page; pvalloc also rounds the size up to whole OS pages. */
#include "names.h"

int main(void) {
  size_t os_page = (size_t)sysconf(_SC_PAGESIZE);
  static const size_t sizes[] = {0, 1, 100, 4095, 4096, 4097, 100000, 5 * 1024 * 1024};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    void *block = opaque(valloc(sizes[i])), *rounded = opaque(pvalloc(sizes[i]));
    CHECK(block != NULL && rounded != NULL);
    CHECK_EQ((uintptr_t)block % os_page, 0);
    CHECK_EQ((uintptr_t)rounded % os_page, 0);
    size_t whole = (sizes[i] + os_page - 1) / os_page * os_page;
    CHECK_THAT(malloc_usable_size(block), >=, sizes[i]);
    CHECK_THAT(malloc_usable_size(rounded), >=, whole);
    fill(rounded, 0, whole, 1);
    check_filled(rounded, 0, whole, 1);
    free(block), free(rounded);
  }
  return 0;
}
