// builds: fast linked
/* One thread allocates and another frees, for long: memory comes back to the one that allocates
 * instead of piling up. */
#include "threads.h"

enum { BATCH = 4096, ROUNDS = 300 };
static void *volatile batch[BATCH];
static pthread_barrier_t full, empty;

static void *free_batches(void *unused) {
  for (int round = 0; round < ROUNDS; round++) {
    pthread_barrier_wait(&full);
    for (int i = 0; i < BATCH; i++) free(batch[i]);
    pthread_barrier_wait(&empty);
  }
  return unused;
}

int main(void) {
  pthread_barrier_init(&full, NULL, 2);
  pthread_barrier_init(&empty, NULL, 2);
  pthread_t consumer = start_thread(free_batches, NULL);
  size_t after_first = 0;
  for (int round = 0; round < ROUNDS; round++) {
    size_t size = 100 + (size_t)(round % 10) * 200;
    for (int i = 0; i < BATCH; i++) memset(batch[i] = opaque(malloc(size)), 1, size);
    pthread_barrier_wait(&full);
    pthread_barrier_wait(&empty);
    if (round == 20) after_first = resident_bytes();
  }
  join_thread(consumer);
  CHECK_THAT(resident_bytes(), <, after_first + 8 * MIB);
  return 0;
}
