// build: both
// status: 0
// windows: no
/* Threads of the C library's other arenas: their blocks are recognised too. */
#include "libc_blocks.h"
#include "../threads.h"

static void *allocate(void *unused) {
  malloc_function *libc_malloc = (malloc_function *)libc_function("libc_malloc");
  void **blocks = opaque(libc_malloc(100 * sizeof *blocks));
  for (size_t i = 0; i < 100; i++) blocks[i] = opaque(libc_malloc(i * 100));
  return (void)unused, blocks;
}

int main(void) {
  libc_function("libc_malloc");
  for (int round = 0; round < 10; round++) {
    void **blocks = run_in_thread(allocate, NULL);
    for (int i = 0; i < 100; i++) free(blocks[i]);
    free(blocks);
  }
  return 0;
}
