/* For crimes long after a process's start, when its blocks are guarded no longer and its frees not
 * looked at closely. */
#ifndef LOAM_TESTS_MISUSE_LATER_H
#define LOAM_TESTS_MISUSE_LATER_H

#include "../names.h"

static inline void live_a_while(void) {
  static void *blocks[1000];
  for (int i = 0; i < 1000; i++) blocks[i] = opaque(malloc(100));
  for (int i = 0; i < 1000; i++) free(blocks[i]);
}

#endif
