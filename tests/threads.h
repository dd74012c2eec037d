/* Starting and joining threads in tests. */
#ifndef LOAM_TESTS_THREADS_H
#define LOAM_TESTS_THREADS_H

#include "check.h"
#include <pthread.h>

#if defined(_WIN32)
/* As pause(2) without signals. */
static inline int pause(void) {
  Sleep(INFINITE);
  return -1;
}
#endif

static inline pthread_t start_thread(void *(*function)(void *), void *argument) {
  pthread_t thread;
  CHECK_EQ(pthread_create(&thread, NULL, function, argument), 0);
  return thread;
}

static inline void *join_thread(pthread_t thread) {
  void *result;
  CHECK_EQ(pthread_join(thread, &result), 0);
  return result;
}

/* What is resident when all threads have begun, each of which waits in wait_at_start: what they take
 * themselves counts as live. */
static inline size_t resident_at_start(pthread_barrier_t *barrier) {
  pthread_barrier_wait(barrier);
  size_t bytes = resident_bytes();
  pthread_barrier_wait(barrier);
  return bytes;
}
static inline void wait_at_start(pthread_barrier_t *barrier) {
  for (int i = 0; i < 2; i++) pthread_barrier_wait(barrier);
}

static inline void *run_in_thread(void *(*function)(void *), void *argument) {
  return join_thread(start_thread(function, argument));
}

#endif
