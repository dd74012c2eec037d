// builds: fast checking hardened linked
// environment: LOAM_OPTIONS=purge_delay_ms=3600000
/* Memory that is locked (mlockall): calloc's is zero, and what is free goes back once it is locked no
 * longer, though the system refused that before. */
#include "check.h"

#include <malloc.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { COUNT = 64 };
static const size_t sizes[] = {100, 3000, 20000, 200000, 1 << 20};

static void take_and_free(bool locked) {
  char *blocks[COUNT];
  for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
    for (int i = 0; i < COUNT; i++) {
      blocks[i] = opaque(calloc(1, sizes[k]));
      for (size_t at = 0; at < sizes[k]; at++) CHECK_EQ(blocks[i][at], 0);
      memset(blocks[i], 1, sizes[k]);
    }
    for (int i = 0; i < COUNT; i++) free(blocks[i]);
    if (locked) malloc_trim(0);
  }
}

int main(void) {
  take_and_free(false);
  malloc_trim(0);
  size_t empty = resident_bytes();
  if (mlockall(MCL_CURRENT | MCL_FUTURE) != 0) return 77;
  for (int i = 0; i < 3; i++) take_and_free(true);
  CHECK_EQ(munlockall(), 0);
  take_and_free(false);
  malloc_trim(0);
  CHECK_THAT(resident_bytes(), <, empty + (COUNT << 18));
  take_and_free(false);
  return 0;
}
