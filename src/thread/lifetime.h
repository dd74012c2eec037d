/* How a thread comes to its cache, and what becomes of it at the thread's end: it waits for the
 * next one, and its lists go to depots. (Rejected: lists that wait with it. Nobody else could have
 * their blocks.) */
#ifndef LM_THREAD_LIFETIME_H
#define LM_THREAD_LIFETIME_H

#include "thread/cache.h"

/* A cache for the calling thread, or NULL if out of memory. */
struct lm_cache *lm_cache_begin(void);
/* The thread's cache waits for the next one; its lists go to the depot, or home. */
void lm_cache_end(struct lm_cache *cache);

/* In the child of a fork, whose only thread has this cache, or none. */
void lm_cache_after_fork(struct lm_cache *cache);

#endif
