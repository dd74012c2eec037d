/* What the passing of time asks for: depots are aged, empty spans end, pages between blocks and
 * free pages go back to the system. Calls of any thread's slow paths do it, and the option
 * background's thread; each no more than one call may, and the next goes on where it has stopped.
 *
 * A thread whose calls all take the fast paths would never do it, and one that frees much and then
 * calls seldom would keep its peak. So the next calls of malloc take the slow path, too: as many as
 * cost next to nothing.
 *
 * (Rejected: a thread of loam's own, which a program that counts its threads does not expect. Only
 * the option background starts one.) */
#ifndef LM_THREAD_TICK_H
#define LM_THREAD_TICK_H

#include "thread/cache.h"

/* A slow path has asked a central: one in some looks at the clock. */
void lm_tick_event(struct lm_cache *cache);

/* Looks at the clock, and does some of what is due. No lock is held. */
void lm_tick(struct lm_cache *cache);

/* Malloc takes the slow path so that it looks at the clock. */
void lm_tick_look(struct lm_cache *cache);

/* For a thread of loam's own: does all that is due. */
void lm_tick_background(void);
uint64_t lm_tick_interval_ms(void);

/* The thread that has the cache has nothing else to do for so long: all that is due, and with it
 * its lists, as if the time had passed. Returns whether the time was up first. */
bool lm_tick_idle(struct lm_cache *cache, uint64_t ms);

/* Gives back all that can be, now: what depots have, pages without a block, free pages beyond
 * `keep_bytes` of a pool. Returns whether anything went to the system. */
bool lm_tick_trim(size_t keep_bytes);

extern struct lm_lock lm_tick_lock;

#endif
