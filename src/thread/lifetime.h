/* How a thread comes to its cache, and what becomes of it at the thread's end: it waits for the
 * next one (thread/idle.h). */
#ifndef LM_THREAD_LIFETIME_H
#define LM_THREAD_LIFETIME_H

#include "thread/cache.h"

/* A cache for the calling thread, or NULL if out of memory. */
struct lm_cache *lm_cache_begin(void);
/* Looks at the clock, and leaves the cache to the next thread. */
void lm_cache_end(struct lm_cache *cache);

/* In the child of a fork, whose only thread has this cache, or none. */
void lm_cache_after_fork(struct lm_cache *cache);

#endif
