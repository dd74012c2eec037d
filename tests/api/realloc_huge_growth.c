/* Growing a huge block keeps its contents without holding two copies of it. */
#include "names.h"

int main(void) {
  size_t size = 64 * MIB;
  unsigned char *block = opaque(malloc(size));
  for (size_t i = 0; i < size; i += 4096) block[i] = pattern_byte(i, 1);
  block[size - 1] = 0x77;
  size_t before = resident_bytes();
  block = opaque(realloc(block, 4 * size));
  CHECK(block != NULL);
  /* A copy would have made all of it resident; in place or moved by the kernel costs nothing,
   * and memory beyond the old size has not been touched. */
  CHECK_THAT(resident_bytes(), <, before + 4 * MIB);
  for (size_t i = 0; i < size; i += 4096) CHECK_EQ(block[i], pattern_byte(i, 1));
  CHECK_EQ(block[size - 1], 0x77);

  /* Many steps: quadratic copying would take minutes. */
  double start = processor_seconds();
  for (size_t next = 4 * size; next < 8 * size; next += MIB) {
    block = opaque(realloc(block, next));
    CHECK(block != NULL);
    block[next - 1] = 1;
  }
  CHECK_THAT((processor_seconds() - start) * 1000, <, 5000);
  block = opaque(realloc(block, 100));
  check_filled(block, 0, 1, 1);
  CHECK_THAT(resident_bytes(), <, before);
  free(block);
  return 0;
}
