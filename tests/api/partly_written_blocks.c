// builds: fast checking hardened linked
/* What a block holds when it comes is left of others and of loam itself, and stays where the program
 * does not write. Programs that write a byte of it, or two, may free it: whatever they write. */
#include "names.h"

enum { ROUNDS = 20000, BLOCK_BYTES = 16 };

/* Of a first-class heap: each block goes back to its span at once, and comes again. */
static void write_at(struct loam_heap *heap, size_t offset, size_t count, uint64_t *random) {
  for (int i = 0; i < ROUNDS; i++) {
    unsigned char *block = opaque(loam_heap_malloc(heap, BLOCK_BYTES));
    CHECK(block != NULL);
    for (size_t at = offset; at < offset + count; at++)
      block[at] = (unsigned char)random_next(random);
    free(block);
  }
}

int main(void) {
  struct loam_heap *heap = loam_heap_new();
  CHECK(heap != NULL);
  uint64_t random = 1;
  for (size_t count = 1; count <= 2; count++)
    for (size_t offset = 0; offset + count <= BLOCK_BYTES; offset++)
      write_at(heap, offset, count, &random);
  loam_heap_destroy(heap);
  return 0;
}
