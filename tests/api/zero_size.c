// builds: fast checking linked static
// windows: yes
/* A size of zero gives a unique block that can be freed, resized and measured. */
#include "names.h"

int main(void) {
  void *blocks[64];
  for (int i = 0; i < 64; i++) {
    blocks[i] = opaque(malloc(0));
    CHECK(blocks[i] != NULL);
    CHECK_EQ((uintptr_t)blocks[i] % 16, 0);
    for (int j = 0; j < i; j++) CHECK(blocks[i] != blocks[j]);
  }
  for (int i = 0; i < 64; i++) free(blocks[i]);

  void *cleared = opaque(calloc(0, 8)), *cleared_other = opaque(calloc(8, 0));
  CHECK(cleared != NULL && cleared_other != NULL && cleared != cleared_other);
  void *aligned = opaque(aligned_alloc(256, 0));
  CHECK(aligned != NULL);
  CHECK_EQ((uintptr_t)aligned % 256, 0);
  char *grown = opaque(realloc(cleared, 100));
  CHECK(grown != NULL);
  fill(grown, 0, 100, 1);
  free(grown), free(cleared_other), free(aligned);
  return 0;
}
