/* Caches that wait for a thread. Those of threads that have ended lately rest with all their lists,
 * for the threads that begin next, the youngest first: who starts a thread for each request does
 * not pass its blocks through depots each time. They are few, have together what caches may have at
 * most, and give up their lists when none of them has been taken for a while. */
#ifndef LM_THREAD_IDLE_H
#define LM_THREAD_IDLE_H

#include "thread/cache.h"

/* One that rests, or one without lists; NULL if there is none. */
struct lm_cache *lm_idle_take(void);
/* It rests, or gives up its lists. */
void lm_idle_put(struct lm_cache *cache);

/* If no thread has ended for LM_CACHE_AGE_MS, or of `any`, one that rests gives up its lists.
 * Returns whether one did. Under the lock of ticks, so that no fork finds it away. */
bool lm_idle_age(uint64_t now_ms, bool any);

#endif
