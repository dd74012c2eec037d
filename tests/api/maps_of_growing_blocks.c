// builds: fast linked
/* Blocks that grow by realloc, many at a time, leave the process room for mappings of its own: the
 * system has a limit for their number, 65,530 by default. */
#include "maps.h"

enum { BLOCKS = 1000, ROUNDS = 3, STEPS = 6, MAPS_MOST = 5000 };
static unsigned char *blocks[BLOCKS];
static size_t sizes[BLOCKS];

static void grow_all(uint64_t *random) {
  for (size_t i = 0; i < BLOCKS; i++) {
    size_t size = sizes[i] + sizes[i] / 3 + random_next(random) % 50000;
    blocks[i] = opaque(realloc(blocks[i], size));
    CHECK_EQ(blocks[i][0], i % 251);
    CHECK_EQ(blocks[i][sizes[i] - 1], i % 241);
    blocks[i][size - 1] = (unsigned char)(i % 241);
    sizes[i] = size;
  }
}

int main(void) {
  uint64_t random = 1;
  for (int round = 0; round < ROUNDS; round++) {
    for (size_t i = 0; i < BLOCKS; i++) {
      free(blocks[i]);
      sizes[i] = 300000 + random_next(&random) % 200000;
      blocks[i] = opaque(malloc(sizes[i]));
      blocks[i][0] = (unsigned char)(i % 251);
      blocks[i][sizes[i] - 1] = (unsigned char)(i % 241);
    }
    for (int step = 0; step < STEPS; step++) grow_all(&random);
    CHECK_THAT(count_maps(), <, MAPS_MOST);
  }
  return 0;
}
