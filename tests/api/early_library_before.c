// builds: fast checking
// preload-before: early_allocation
/* A library preloaded before loam allocates in its constructor, before loam's own may have run. */
#include "names.h"

extern unsigned char *early_blocks[100] __attribute__((weak));

int main(void) {
  CHECK(early_blocks != NULL);
  for (int i = 0; i < 100; i += 3) { /* the rest is freed by the library's destructor */
    check_filled(early_blocks[i], 0, (size_t)i * 97 + 1, (unsigned)i);
    free(early_blocks[i]);
    early_blocks[i] = NULL;
  }
  return 0;
}
