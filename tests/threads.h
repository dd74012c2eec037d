/* Starting and joining threads in tests. */
#ifndef LOAM_TESTS_THREADS_H
#define LOAM_TESTS_THREADS_H

#include "check.h"
#include <pthread.h>

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

static inline void *run_in_thread(void *(*function)(void *), void *argument) {
  return join_thread(start_thread(function, argument));
}

#endif
