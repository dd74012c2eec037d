/* Handlers of pthread_atfork allocate before and after the fork, on both sides. */
#include "background.h"

static void *before_block;

static void allocate_before(void) { before_block = opaque(malloc(5000)); }
static void free_after(void) {
  free(before_block);
  free(opaque(malloc(70000)));
}

/* Registered in a constructor: handlers registered early run late before the fork, so some of
 * them run while the allocator has locked itself if it registers its own too late. */
__attribute__((constructor)) static void register_early(void) {
  CHECK_EQ(pthread_atfork(allocate_before, free_after, free_after), 0);
}

int main(void) {
  pthread_t threads[2];
  for (uintptr_t i = 0; i < 2; i++) threads[i] = start_thread(background_work, (void *)i);
  for (int i = 0; i < 50; i++) {
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) _exit(0);
    CHECK_EQ(wait_for(child), 0);
  }
  __atomic_store_n(&background_stop, 1, __ATOMIC_RELAXED);
  for (int i = 0; i < 2; i++) join_thread(threads[i]);
  return 0;
}
