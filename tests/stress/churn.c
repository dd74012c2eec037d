// arguments: 1 11 6
// long-arguments: 20 11 6
// windows: yes
/* Threads live briefly: each frees what earlier ones left in the table and leaves its own there,
 * so that nearly all blocks outlive the thread that allocated them. */
#include "blocks.h"

enum { SHARED = 512, STEPS = 300 };
static struct record *shared[SHARED];
static struct stress stress;

static void *live_briefly(void *seed) {
  uint64_t random = (uintptr_t)seed | 1;
  struct record *own = opaque(calloc(1, sizeof *own));
  for (int i = 0; i < STEPS; i++) {
    own = __atomic_exchange_n(&shared[random_next(&random) % SHARED], own, __ATOMIC_ACQ_REL);
    record_free(own);
    record_allocate(own, &random);
  }
  record_free(own);
  free(own);
  return NULL;
}

/* Starts and joins threads, a few alive at once. */
static void *lead(void *index) {
  uint64_t random = stress.seed * 7919 + (uintptr_t)index + 1;
  for (double end = seconds_now() + stress.seconds; seconds_now() < end;) {
    pthread_t threads[3];
    for (int i = 0; i < 3; i++)
      threads[i] = start_thread(live_briefly, (void *)(uintptr_t)random_next(&random));
    for (int i = 0; i < 3; i++) join_thread(threads[i]);
  }
  return NULL;
}

int main(int count, char **arguments) {
  stress = stress_arguments(count, arguments);
  for (int i = 0; i < SHARED; i++) shared[i] = opaque(calloc(1, sizeof *shared[i]));
  stress_run(&stress, lead);
  for (int i = 0; i < SHARED; i++) record_free(shared[i]), free(shared[i]);
  return 0;
}
