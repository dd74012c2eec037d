/* Threads that allocate and free all the time, so that a fork finds the allocator at work. */
#ifndef LOAM_TESTS_FORK_BACKGROUND_H
#define LOAM_TESTS_FORK_BACKGROUND_H

#include "../names.h"
#include "../threads.h"
#include <sys/wait.h>

static int background_stop;
static void *background_shared[64]; /* swapped, so that there are remote frees as well */

static inline void *background_work(void *seed) {
  uint64_t random = (uintptr_t)seed * 77 + 1;
  while (!__atomic_load_n(&background_stop, __ATOMIC_RELAXED)) {
    size_t size = random_next(&random) % (random_next(&random) % 64 == 0 ? 300000 : 2000) + 1;
    char *block = opaque(malloc(size));
    CHECK(block != NULL);
    block[0] = block[size - 1] = 1;
    free(__atomic_exchange_n(&background_shared[random_next(&random) % 64], block,
                             __ATOMIC_ACQ_REL));
  }
  return NULL;
}

/* Waits at most a minute for the child, so that one that hangs is found; its status. */
static inline int wait_for(pid_t child) {
  for (int i = 0; i < 60000; i++) {
    int status;
    pid_t ended = waitpid(child, &status, WNOHANG);
    CHECK(ended >= 0);
    if (ended == child) return status;
    sleep_ms(1);
  }
  check_failed(__FILE__, __LINE__, "the child hangs", child, 0);
  return -1;
}

/* Forks so many times, one child at a time. Each runs `be_the_child`, which ends it with status 0
 * if all is well. */
static inline void fork_repeatedly(int count, void (*be_the_child)(void)) {
  for (int i = 0; i < count; i++) {
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) be_the_child();
    CHECK_EQ(wait_for(child), 0);
  }
}

#endif
