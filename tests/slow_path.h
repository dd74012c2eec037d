/* Allocation of varied sizes: what a program does anyway while loam gives memory back. */
#ifndef LOAM_TESTS_SLOW_PATH_H
#define LOAM_TESTS_SLOW_PATH_H

#include "names.h"

/* What may stay of a peak of 90 MiB and more while the activity goes on: of each of the 80 size
 * classes that it uses a span, whose 64 KiB were written to in the peak, can be in use. */
#define RETURN_SLACK_BYTES (4 * MIB)

/* For `seconds`, some slow-path work every few milliseconds; on a busy machine for longer, until it
 * is half as much as otherwise. */
static inline void be_active(double seconds) {
  uint64_t random = 99;
  double end = seconds_now() + seconds;
  for (int turns = (int)(seconds * 100); turns > 0 || seconds_now() < end; turns--, sleep_ms(5)) {
    void *blocks[50];
    for (int i = 0; i < 50; i++) blocks[i] = opaque(malloc(random_next(&random) % 20000));
    for (int i = 0; i < 50; i++) free(blocks[i]);
  }
}

#endif
