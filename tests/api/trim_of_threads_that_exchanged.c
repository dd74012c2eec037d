// builds: fast linked
/* Threads have swapped blocks through places that all share, so that each has some of everybody's in
 * its caches. All is freed, and they sleep: one malloc_trim brings these home and gives them back. */
#include <malloc.h>
#include <stdatomic.h>

#include "children.h"
#include "threads.h"

enum { THREADS = 16, PLACES = 4096, EXCHANGES = 10000, LEAST = 1000, MOST = 30000 };
#define SLACK_BYTES (12 * MIB)

static _Atomic(char *) places[PLACES];
static pthread_barrier_t barrier;

static void *exchange_and_sleep(void *argument) {
  size_t number = (size_t)argument;
  uint64_t random = number + 1;
  for (size_t i = 0; i < EXCHANGES; i++) {
    size_t bytes = LEAST + random_next(&random) % (MOST - LEAST + 1);
    char *block = opaque(malloc(bytes));
    touch(block, bytes);
    free(atomic_exchange(&places[random_next(&random) % PLACES], block));
  }
  pthread_barrier_wait(&barrier);
  for (size_t i = number; i < PLACES; i += THREADS) free(atomic_exchange(&places[i], NULL));
  pthread_barrier_wait(&barrier);
  pause();
  return NULL;
}

int main(void) {
  CHECK_EQ(pthread_barrier_init(&barrier, NULL, THREADS + 1), 0);
  size_t before = resident_bytes();
  for (size_t i = 0; i < THREADS; i++) start_thread(exchange_and_sleep, (void *)i);
  for (int i = 0; i < 2; i++) pthread_barrier_wait(&barrier);
  usleep(100000); /* until all sleep */
  CHECK_THAT(resident_bytes(), >, before + 4 * SLACK_BYTES);
  malloc_trim(0);
  CHECK_THAT(resident_bytes(), <, before + SLACK_BYTES);
  return 0;
}
