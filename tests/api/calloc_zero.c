// builds: fast checking linked static
// windows: yes
/* calloc gives zeros also where a freed block is used again. */
#include "names.h"

static const size_t sizes[] = {1, 8, 16, 24, 100, 129, 1000, 4096, 10000, 32768, 40000, 100000,
                               1 << 20, 5 << 20, 40 << 20};

int main(void) {
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    size_t size = sizes[i];
    int count = size < 100000 ? 200 : 4;
    void *blocks[200];
    for (int round = 0; round < 3; round++) {
      for (int j = 0; j < count; j++) {
        blocks[j] = opaque(j % 2 ? calloc(1, size) : calloc(size, 1));
        CHECK(blocks[j] != NULL);
        check_zero(blocks[j], size);
        memset(blocks[j], 0xff, size);
      }
      for (int j = 0; j < count; j++) free(blocks[j]);
    }
  }
  return 0;
}
