/* malloc_stats prints text to standard error and allocates nothing. */
#include "names.h"

int main(void) {
  static char text[65536];
  void *block = opaque(malloc(123456));
  int ends[2], saved = dup(STDERR_FILENO);
  CHECK_EQ(pipe(ends), 0);
  CHECK_EQ(dup2(ends[1], STDERR_FILENO), STDERR_FILENO);
  malloc_stats();
  dup2(saved, STDERR_FILENO);
  close(ends[1]);
  ssize_t length = read(ends[0], text, sizeof text - 1);
  CHECK_THAT(length, >, 40);
  for (ssize_t i = 0; i < length; i++)
    CHECK(text[i] == '\n' || (text[i] >= ' ' && text[i] <= '~'));
  CHECK_EQ(text[length - 1], '\n');
  free(block);
  return 0;
}
