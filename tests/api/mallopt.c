/* mallopt accepts the parameters that glibc defines and refuses others. */
#include "names.h"

int main(void) {
  static const int known[] = {M_MXFAST, M_TRIM_THRESHOLD, M_TOP_PAD, M_MMAP_THRESHOLD,
                              M_MMAP_MAX, M_CHECK_ACTION, M_PERTURB, M_ARENA_TEST, M_ARENA_MAX};
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    CHECK_EQ(mallopt(known[i], known[i] == M_MXFAST ? 64 : 1), 1);
  CHECK_EQ(mallopt(4711, 1), 0);
  CHECK_EQ(mallopt(-4711, 1), 0);
  void *block = opaque(malloc(100));
  CHECK(block != NULL);
  free(block);
  return 0;
}
