/* Threads that put blocks into places that all share and free what the others had put there, so that
 * each has some of everybody's in its bins and caches; then they free all, and sleep for good. */
#ifndef LOAM_TESTS_EXCHANGE_H
#define LOAM_TESTS_EXCHANGE_H

#include <stdatomic.h>

#include "names.h"
#include "threads.h"

enum { EXCHANGE_PLACES_MOST = 4096 };

struct exchange {
  size_t threads, places, turns, least, most; /* sizes in bytes, both included */
  _Atomic(char *) blocks[EXCHANGE_PLACES_MOST];
  atomic_size_t begun;
  pthread_barrier_t barrier;
};

static void *exchange_and_sleep(void *argument) {
  struct exchange *exchange = argument;
  size_t number = atomic_fetch_add(&exchange->begun, 1);
  uint64_t random = number + 1;
  wait_at_start(&exchange->barrier);
  for (size_t i = 0; i < exchange->turns; i++) {
    size_t bytes = exchange->least + random_next(&random) % (exchange->most - exchange->least + 1);
    char *block = opaque(malloc(bytes));
    touch(block, bytes);
    free(atomic_exchange(&exchange->blocks[random_next(&random) % exchange->places], block));
  }
  pthread_barrier_wait(&exchange->barrier);
  for (size_t i = number; i < exchange->places; i += exchange->threads)
    free(atomic_exchange(&exchange->blocks[i], NULL));
  pthread_barrier_wait(&exchange->barrier);
  pause();
  return NULL;
}

/* Returns once they have freed all: what was resident when they had begun. */
static inline size_t exchange_until_all_sleep(struct exchange *exchange) {
  CHECK_THAT(exchange->places, <=, EXCHANGE_PLACES_MOST);
  CHECK_EQ(pthread_barrier_init(&exchange->barrier, NULL, (unsigned)exchange->threads + 1), 0);
  for (size_t i = 0; i < exchange->threads; i++) start_thread(exchange_and_sleep, exchange);
  size_t before = resident_at_start(&exchange->barrier);
  for (int i = 0; i < 2; i++) pthread_barrier_wait(&exchange->barrier);
  return before;
}

#endif
