/* Preloaded beside loam: allocates in its constructor, as early as libraries may, and keeps the
 * blocks for the program to check. */
#include "names.h"

unsigned char *early_blocks[100];

__attribute__((constructor(101))) static void allocate_early(void) {
  for (int i = 0; i < 100; i++) {
    size_t size = (size_t)i * 97 + 1;
    early_blocks[i] = opaque(i % 2 ? malloc(size) : calloc(1, size));
    fill(early_blocks[i], 0, size, (unsigned)i);
  }
}

/* Runs after most of the process is torn down. */
__attribute__((destructor(101))) static void free_late(void) {
  for (int i = 0; i < 100; i++) {
    if (early_blocks[i] != NULL) check_filled(early_blocks[i], 0, (size_t)i * 97 + 1, (unsigned)i);
    free(early_blocks[i]);
  }
  free(opaque(malloc(5000)));
}
