/* A thread other than the first forks: in the child it is the only one, and goes on with its
 * heap; blocks of the threads that are gone can be freed. */
#include "background.h"

static unsigned char *blocks_of_main[200];
static int fork_count = 40;

static void *fork_often(void *unused) {
  unsigned char *own = opaque(malloc(3000));
  fill(own, 0, 3000, 9);
  for (int i = 0; i < fork_count; i++) {
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
      check_filled(own, 0, 3000, 9);
      free(own);
      for (int j = 0; j < 200; j++) {
        check_filled(blocks_of_main[j], 0, 100, (unsigned)j);
        free(blocks_of_main[j]);
      }
      pid_t grandchild = fork(); /* and the child can fork itself */
      if (grandchild == 0) {
        free(opaque(malloc(100000)));
        exit(0); /* with the exit handlers of a process that lost its first thread */
      }
      CHECK_EQ(wait_for(grandchild), 0);
      exit(0);
    }
    CHECK_EQ(wait_for(child), 0);
  }
  free(own);
  return unused;
}

int main(void) {
  if (strcmp(test_build(), "emulated") == 0) fork_count = 5; /* half a second for each */
  for (int i = 0; i < 200; i++) {
    blocks_of_main[i] = opaque(malloc(100));
    fill(blocks_of_main[i], 0, 100, (unsigned)i);
  }
  pthread_t background = start_thread(background_work, NULL);
  pthread_t other = start_thread(fork_often, NULL);
  run_in_thread(fork_often, NULL);
  join_thread(other);
  __atomic_store_n(&background_stop, 1, __ATOMIC_RELAXED);
  join_thread(background);
  return 0;
}
