/* calloc does not write to memory that is fresh from the system. */
#include "names.h"

int main(void) {
  free(opaque(malloc(10)));
  size_t before = resident_bytes();
  unsigned char *block = opaque(calloc(64, MIB));
  CHECK(block != NULL);
  CHECK_THAT(resident_bytes(), <, before + 200 * KIB);
  CHECK_EQ(block[63 * MIB], 0);
  unsigned char *smaller[8];
  size_t before_smaller = resident_bytes();
  for (int i = 0; i < 8; i++) smaller[i] = opaque(calloc(1, 600 * KIB));
  CHECK_THAT(resident_bytes(), <, before_smaller + 400 * KIB);
  for (int i = 0; i < 8; i++) free(smaller[i]);
  free(block);
  return 0;
}
