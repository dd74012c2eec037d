/* The option background=on: a thread of loam's own that does what ticks do, for processes whose
 * threads make no calls.
 * It takes no signals, allocates nothing, and ends when the process does. */
#ifndef LM_API_BACKGROUND_H
#define LM_API_BACKGROUND_H

#include "base/atomic.h"

/* Set in the child of a fork, which has no such thread yet; its next slow path starts it. Written
 * and read by the only thread that the child has. */
extern bool lm_background_is_due;

/* Whether an option asks for the thread. */
bool lm_background_is_wanted(void);
/* Starts it if so. May allocate. */
void lm_background_start(void);
void lm_background_end(void);

#endif
