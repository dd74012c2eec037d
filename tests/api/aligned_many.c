// windows: yes
/* Many aligned blocks alive at once do not overlap, whatever order they are freed in. */
#include "names.h"

enum { COUNT = 2000 };
static struct { unsigned char *block; size_t size; } live[COUNT];

int main(void) {
  uint64_t random = 1;
  for (int round = 0; round < 3; round++) {
    for (int i = 0; i < COUNT; i++) {
      size_t alignment = (size_t)1 << (random_next(&random) % 14);
      live[i].size = random_next(&random) % 3000;
      live[i].block = opaque(aligned_alloc(alignment, live[i].size));
      CHECK(live[i].block != NULL);
      CHECK_EQ((uintptr_t)live[i].block % alignment, 0);
      fill(live[i].block, 0, live[i].size, (unsigned)i);
    }
    for (int i = 0; i < COUNT; i++) {
      int at = i * 7 % COUNT; /* 7 and COUNT have no common factor: each is visited once */
      check_filled(live[at].block, 0, live[at].size, (unsigned)at);
      free(live[at].block);
    }
  }
  return 0;
}
