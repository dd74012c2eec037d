/* The clock of the vDSO, a library that the kernel puts into every process: see vdso(7). */
#ifndef LM_OS_VDSO_LINUX_H
#define LM_OS_VDSO_LINUX_H

#include "base/compiler.h"

/* As the kernel writes it: in 64 bit whatever the C library's time_t is. */
struct lm_clock_time {
  int64_t seconds, nanoseconds;
};
/* clock_gettime(2); returns 0 or minus an errno. */
typedef int lm_clock_function(int clock, struct lm_clock_time *time);

/* In the library whose header is at `start`; NULL if it has none, or `start` is 0. */
lm_clock_function *lm_vdso_find_clock(uintptr_t start);

#endif
