/* All locks of the process, by rank: a fork takes them, and who is about to print looks whether any
 * is held. */
#ifndef LM_API_LOCKS_H
#define LM_API_LOCKS_H

#include "os/lock.h"

/* Held while the process starts. */
extern struct lm_lock lm_start_lock;

/* For fork: before it; after it in the parent, and in the child. */
void lm_locks_take_all(void);
void lm_locks_free_all(void);
void lm_locks_reset_all(void);

/* If any lock is held, has whoever frees one call the function, and returns true. */
bool lm_locks_call_when_free(void (*function)(void));

#endif
