/* Children of the bare system call, which tells the C library nothing: no handlers run, and whoever
 * held a lock of the allocator's is gone. The child can allocate and free all the same. */
#include "background.h"

#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>

enum { COPIES = 500, THREADS = 4 };

/* Large blocks of lengths that nothing caches: most of such a call is under a lock. */
static void *take_large(void *seed) {
  uint64_t random = (uintptr_t)seed + 1;
  while (!__atomic_load_n(&background_stop, __ATOMIC_RELAXED)) {
    char *block = opaque(malloc(300000 + random_next(&random) % 2000000));
    CHECK(block != NULL);
    block[0] = 1;
    free(block);
  }
  return NULL;
}

static void be_the_child(void) {
  static const size_t sizes[] = {10, 500, 3000, 40000, 300000, 1000000, 3000000};
  enum { SIZES = sizeof sizes / sizeof *sizes };
  unsigned char *blocks[SIZES];
  for (int round = 0; round < 3; round++) {
    for (unsigned i = 0; i < SIZES; i++) {
      blocks[i] = opaque(malloc(sizes[i]));
      if (blocks[i] == NULL) _exit(1);
      fill(blocks[i], 0, 10, i);
    }
    for (unsigned i = 0; i < SIZES; i++) {
      check_filled(blocks[i], 0, 10, i);
      free(blocks[i]);
    }
  }
  _exit(0);
}

int main(void) {
  pthread_t threads[THREADS];
  for (uintptr_t i = 0; i < THREADS; i++)
    threads[i] = start_thread(i == 0 ? background_work : take_large, (void *)i);
  for (int i = 0; i < COPIES; i++) {
    free(opaque(malloc(500000)));
    pid_t child = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
    CHECK(child >= 0);
    if (child == 0) be_the_child();
    CHECK_EQ(wait_for(child), 0);
  }
  __atomic_store_n(&background_stop, 1, __ATOMIC_RELAXED);
  for (int i = 0; i < THREADS; i++) join_thread(threads[i]);
  return 0;
}
