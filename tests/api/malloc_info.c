/* malloc_info writes well-formed XML, and refuses options other than 0. */
#include "names.h"

/* Walks the text once: every element that is opened is closed, in the right order. */
static void check_well_formed(const char *text) {
  enum { DEPTH = 64 };
  const char *open_names[DEPTH];
  size_t lengths[DEPTH];
  int depth = 0, elements = 0;
  for (const char *at = strchr(text, '<'); at != NULL; at = strchr(at, '<')) {
    const char *end = strchr(at, '>');
    CHECK(end != NULL);
    CHECK(memchr(at + 1, '<', (size_t)(end - at - 1)) == NULL);
    if (at[1] == '/') {
      CHECK(--depth >= 0);
      CHECK_EQ(lengths[depth], end - at - 2);
      CHECK(memcmp(open_names[depth], at + 2, lengths[depth]) == 0);
    } else if (at[1] != '?' && at[1] != '!') {
      elements++;
      CHECK(depth > 0 || elements == 1); /* one root element */
      if (end[-1] != '/') {
        CHECK(depth < DEPTH);
        open_names[depth] = at + 1;
        lengths[depth++] = strcspn(at + 1, " \n\t>");
      }
    }
    at = end;
  }
  CHECK_EQ(depth, 0);
  CHECK(elements >= 1);
}

int main(void) {
  static char text[262144];
  void *small = opaque(malloc(10)), *large = opaque(malloc(5 * MIB));
  FILE *stream = fmemopen(text, sizeof text - 1, "w");
  CHECK(stream != NULL);
  errno = 12;
  CHECK_EQ(malloc_info(0, stream), 0);
  fclose(stream);
  CHECK(strncmp(text, "<malloc", 7) == 0 || strncmp(text, "<?xml", 5) == 0);
  check_well_formed(text);

  errno = 0;
  CHECK_EQ(malloc_info(1, stderr), -1);
  CHECK_EQ(errno, EINVAL);
  free(small), free(large);
  return 0;
}
