// builds: fast checking linked static
/* Every power of two up to 64 MiB, with sizes around it; the blocks can be filled, measured,
 * resized and freed like others. */
#include "names.h"

static void check_block(void *block, size_t alignment, size_t size) {
  CHECK(block != NULL);
  CHECK_EQ((uintptr_t)block & (alignment - 1), 0);
  CHECK_THAT(malloc_usable_size(block), >=, size);
  size_t filled = size < 4096 ? size : 4096;
  fill(block, 0, filled, 1);
  if (size > 0) ((unsigned char *)block)[size - 1] = 1;
}

static void check_alignment(size_t alignment, size_t size) {
  void *blocks[4] = {opaque(aligned_alloc(alignment, size)), opaque(memalign(alignment, size)),
                     NULL, opaque(aligned_alloc(alignment, size + 1))};
  CHECK_EQ(posix_memalign(&blocks[2], alignment < 8 ? 8 : alignment, size), 0);
  for (int i = 0; i < 4; i++) check_block(opaque(blocks[i]), alignment, size);
  size_t kept = size < 100 ? size : 100;
  fill(blocks[1], 0, kept, 2);
  blocks[1] = opaque(realloc(blocks[1], size + 100));
  check_filled(blocks[1], 0, kept, 2);
  for (int i = 0; i < 4; i++) free(blocks[i]);
}

int main(void) {
  for (size_t alignment = 1; alignment <= 64 * MIB; alignment *= 2) {
    check_alignment(alignment, 1);
    check_alignment(alignment, 24);
    check_alignment(alignment, 1000);
    check_alignment(alignment, alignment > 8 * MIB ? 8 * MIB : alignment);
    check_alignment(alignment, 100000);
  }
  return 0;
}
