// builds: fast linked
/* malloc_trim gives empty memory back at once and says whether it did. */
#include "names.h"

enum { COUNT = 1000 };

int main(void) {
  size_t before = resident_bytes();
  static void *blocks[COUNT];
  for (int i = 0; i < COUNT; i++) touch(blocks[i] = opaque(malloc(100 * KIB)), 100 * KIB);
  CHECK_THAT(resident_bytes(), >, before + 90 * MIB);
  for (int i = 0; i < COUNT; i++) free(blocks[i]);
  int trimmed = malloc_trim(0);
  CHECK(trimmed == 0 || trimmed == 1);
  CHECK_THAT(resident_bytes(), <, before + 2 * MIB);

  for (int i = 0; i < COUNT; i++) touch(blocks[i] = opaque(malloc(3000)), 3000);
  for (int i = 0; i < COUNT; i++) free(blocks[i]);
  CHECK_EQ(malloc_trim(0), 1);
  malloc_trim(0);
  CHECK_EQ(malloc_trim(0), 0);
  return 0;
}
