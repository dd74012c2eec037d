/* The system reads into memory that a block was moved out of, as into any other: an emulator may
 * take such memory for unmapped. */
#include "names.h"

enum { BLOCKS = 24 };

int main(void) {
  static char *blocks[BLOCKS];
  int file = open("/proc/self/exe", O_RDONLY);
  CHECK(file >= 0);
  for (size_t size = 300000; size < 8 * MIB; size *= 2) {
    for (int round = 0; round < 3; round++) {
      for (int i = 0; i < BLOCKS; i++) {
        blocks[i] = (char *)opaque(malloc(size + (size_t)i * 4096));
        touch(blocks[i], size);
      }
      for (int i = 0; i < BLOCKS; i += 2) /* the next one is in the way: it moves */
        blocks[i] = (char *)opaque(realloc(blocks[i], size * 3 / 2));
      for (int i = 0; i < BLOCKS; i++) free(blocks[i]);
      for (int i = 0; i < BLOCKS; i++) {
        blocks[i] = (char *)opaque(malloc(size));
        for (size_t at = 0; at + 5000 < size; at += 40000)
          CHECK_EQ(pread(file, blocks[i] + at, 5000, 0), 5000);
        memset(blocks[i], i, size);
      }
      for (int i = 0; i < BLOCKS; i++) free(blocks[i]);
    }
  }
  close(file);
  return 0;
}
