/* Makes system calls fail on demand, and the clock stand still: in test builds (LM_FAKE_OS=1). */
#ifndef LM_OS_FAULT_H
#define LM_OS_FAULT_H

#include "base/atomic.h"
#include "base/compiler.h"

#if LM_FAKE_OS
/* Counts down at each call that can fail; the call that finds it at 0 fails, and the
 * lm_fault_more ones that follow. Negative: off. Written by the test, read and decremented by any
 * thread. */
extern _Atomic(long) lm_fault_countdown;
extern _Atomic(long) lm_fault_more;
/* Calls that could have failed so far. */
extern _Atomic(long) lm_fault_points;
/* What the clock says; 0: what the system's does. Written by the test. */
extern _Atomic(uint64_t) lm_fault_clock_ms;

LM_INLINE bool lm_fault_here(void) {
  lm_add_relaxed(&lm_fault_points, 1);
  if (lm_load_relaxed(&lm_fault_countdown) >= 0)
    return lm_sub_relaxed(&lm_fault_countdown, 1) == 0;
  /* Off, or over. */
  return lm_load_relaxed(&lm_fault_more) > 0 && lm_sub_relaxed(&lm_fault_more, 1) > 0;
}
#else
LM_INLINE bool lm_fault_here(void) { return false; }
#endif

#endif
