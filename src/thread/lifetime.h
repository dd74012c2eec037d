/* How a thread comes to its cache, and what becomes of it at the thread's end: it waits for the
 * next one (thread/idle.h). */
#ifndef LM_THREAD_LIFETIME_H
#define LM_THREAD_LIFETIME_H

#include "thread/cache.h"

/* A cache for the calling thread, whose number it does not have yet, or NULL if out of memory. */
struct lm_cache *lm_cache_begin(void);
/* Looks at the clock, and leaves the cache to the next thread. */
void lm_cache_end(struct lm_cache *cache);

/* Whether no thread has a cache: then calls `then`, before the next one may get any. */
bool lm_cache_no_thread_has_any(void (*then)(void));

/* In the child of a fork, whose only thread has this cache, or none. */
void lm_cache_after_fork(struct lm_cache *cache);

#endif
