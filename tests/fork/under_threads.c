/* 300 forks, or as many as the argument says, while three threads allocate. Each child allocates at once, finds the contents of
 * the parent's blocks, frees them, starts a thread, and ends. */
#include "background.h"

enum { FORKS = 300, BLOCKS = 64 };
static unsigned char *blocks[BLOCKS];

static size_t size_of(unsigned i) { return (size_t)1 << (i % 20); }

static void *allocate_in_childs_thread(void *block) {
  free(block);
  return opaque(malloc(700));
}

static void be_the_child(void) {
  unsigned char *first = opaque(malloc(100));
  fill(first, 0, 100, 5);
  for (unsigned i = 0; i < BLOCKS; i++) {
    size_t filled = size_of(i) < 500 ? size_of(i) : 500;
    check_filled(blocks[i], 0, filled, i);
    if (i % 3 == 0) blocks[i] = opaque(realloc(blocks[i], size_of(i) + 1000));
    check_filled(blocks[i], 0, filled, i);
    free(blocks[i]);
  }
  for (size_t size = 1; size < 2 * MIB; size = size * 3 + 1) free(opaque(malloc(size)));
  for (int i = 0; i < 64; i++) free(background_shared[i]);
  check_filled(first, 0, 100, 5);
  free(run_in_thread(allocate_in_childs_thread, first));
  _exit(0);
}

int main(int count, char **arguments) {
  pthread_t threads[3];
  for (uintptr_t i = 0; i < 3; i++) threads[i] = start_thread(background_work, (void *)i);
  for (unsigned i = 0; i < BLOCKS; i++) {
    blocks[i] = opaque(malloc(size_of(i)));
    fill(blocks[i], 0, size_of(i) < 500 ? size_of(i) : 500, i);
  }
  fork_repeatedly(count > 1 ? atoi(arguments[1]) : FORKS, be_the_child);
  __atomic_store_n(&background_stop, 1, __ATOMIC_RELAXED);
  for (int i = 0; i < 3; i++) join_thread(threads[i]);
  return 0;
}
