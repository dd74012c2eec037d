/* The option background=on: a thread of loam's own that does what ticks do, for processes whose
 * threads make no calls.
 * It takes no signals of the program's, allocates nothing, and ends when no other thread has a
 * cache, so that it keeps no process alive: the next one that gets one starts it again. */
#ifndef LM_API_BACKGROUND_H
#define LM_API_BACKGROUND_H

#include "base/atomic.h"

/* Whether the thread is to be started by a slow path. Set in the child of a fork, which has no such
 * thread yet, and by the thread when it ends; cleared by whoever starts it. Both come to threads by
 * lm_caches_lock or a fork; pairs with nothing else. */
extern _Atomic(uint32_t) lm_background_due;
LM_INLINE bool lm_background_is_due(void) { return lm_load_relaxed(&lm_background_due) != 0; }

/* Leaves it to the next slow path. Returns whether an option asks for the thread. */
bool lm_background_start_later(void);
/* Starts it if it is due. May allocate. */
void lm_background_start(void);
void lm_background_end(void);

#endif
