// builds: fast linked
/* Threads have put blocks into places that all share, and freed what the others had put there: each
 * has some of everybody's in its bins. All is freed, and they sleep: what they keep comes back as
 * long as anybody makes calls. */
#include <stdatomic.h>

#include "children.h"
#include "threads.h"

enum { THREADS = 64, PLACES = 4096, EXCHANGES = 20000, LEAST = 16, MOST = 4000 };
#define SLACK_BYTES (48 * MIB)

static _Atomic(char *) places[PLACES];
static pthread_barrier_t barrier;

static void *exchange_and_sleep(void *argument) {
  size_t number = (size_t)argument;
  uint64_t random = number + 1;
  for (size_t i = 0; i < EXCHANGES; i++) {
    size_t bytes = LEAST + random_next(&random) % (MOST - LEAST + 1);
    char *block = opaque(malloc(bytes));
    *block = 1;
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
  CHECK_THAT(resident_bytes(), >, before + SLACK_BYTES * 5 / 4);
  /* Three seconds do on a machine that is idle. */
  for (int i = 0; i < 400 && resident_bytes() >= before + SLACK_BYTES; i++) {
    usleep(50000);
    for (int k = 0; k < 50; k++) free(opaque(malloc(200)));
  }
  CHECK_THAT(resident_bytes(), <, before + SLACK_BYTES);
  return 0;
}
