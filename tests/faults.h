/* How many pages the process had to fetch from the system. */
#ifndef LOAM_TESTS_FAULTS_H
#define LOAM_TESTS_FAULTS_H

#include <sys/resource.h>

#include "check.h"

static inline long fault_count(void) {
  struct rusage usage;
  CHECK_EQ(getrusage(RUSAGE_SELF, &usage), 0);
  return usage.ru_minflt;
}

/* What the clock may cost: memory that is free goes back after half a second, which is little of
 * the work for a process that runs, and much for one that waits for a processor. Both times are
 * since the same moment. */
static inline long faults_of_waiting(double seconds, double processor_seconds) {
  double waited_seconds = seconds - processor_seconds;
  return waited_seconds > 0 ? (long)(20000 * waited_seconds) : 0;
}

#endif
