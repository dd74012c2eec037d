/* malloc in constructors and destructors of all priorities, the earliest that a program may have
 * too, whichever comes before loam's own. */
#include "threads.h"

static unsigned char *blocks[3];
static int constructed;

static void construct(int index) {
  size_t size = (size_t)100 << index * 5;
  CHECK_EQ(constructed, index);
  blocks[index] = (unsigned char *)opaque(malloc(size));
  fill(blocks[index], 0, 100, (unsigned)index);
  constructed++;
}

static void destruct(int index) {
  CHECK_EQ(constructed, index + 1);
  check_filled(blocks[index], 0, 100, (unsigned)index);
  blocks[index] = (unsigned char *)opaque(realloc(blocks[index], 50000));
  check_filled(blocks[index], 0, 100, (unsigned)index);
  free(blocks[index]);
  constructed--;
}

__attribute__((constructor(101))) static void construct_first(void) { construct(0); }
__attribute__((constructor(500))) static void construct_second(void) { construct(1); }
__attribute__((constructor)) static void construct_last(void) { construct(2); }
__attribute__((destructor)) static void destruct_first(void) { destruct(2); }
__attribute__((destructor(500))) static void destruct_second(void) { destruct(1); }
__attribute__((destructor(101))) static void destruct_last(void) { destruct(0); }

static void *use(void *unused) {
  free(opaque(malloc(1000)));
  return unused;
}

int main(void) {
  CHECK_EQ(constructed, 3);
  run_in_thread(use, NULL);
  return 0;
}
