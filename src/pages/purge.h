/* Giving free dirty pages of pools back to the system, on demand, and else:
 *   1. The purge clock, turned by any thread's slow path, gives back what has been free for
 *      a half to the whole of the option purge_delay_ms: so much in one call, and the rest in the
 *      next of anybody's.
 *   2. Early, as soon as more is free than LM_POOL_KEEP_BYTES and a sixteenth of what is used: for
 *      a process that frees much and then sleeps, whose slow paths nobody enters. It is wrong if
 *      the pages are taken again soon, since that costs page faults. Each such page is counted
 *      against a credit, and without credit only the clock purges. Credit grows with time: a
 *      process pays for at most LM_POOL_CREDIT_BYTES of faults too many, and as many each
 *      LM_POOL_CREDIT_MS. In a millisecond about what is given and 2 MiB.
 *      If the option cache_bytes is a number, more than a pool's share of it is what is too much,
 *      and no credit is needed.
 *   3. The more is free, the faster the clock turns, and calls that free much turn it, too; far too
 *      much goes at once (purge.c): a process that stops calling keeps no more than that.
 *
 * (Rejected: a bound beyond which all goes at once. Who takes again what he has freed some
 * milliseconds ago would pay a fault for each page.) */
#ifndef LM_PAGES_PURGE_H
#define LM_PAGES_PURGE_H

#include "pages/pool.h"

#define LM_POOL_KEEP_BYTES (512 * LM_KIB) /* over all pools */
#define LM_POOL_CREDIT_BYTES (4 * LM_MIB)
#define LM_POOL_CREDIT_MS 1000

/* Purges early if there is much to purge and credit for it, and turns the clock if there is so much
 * that it hurries: as much as has been given by the call, `given_count` pages, or as much as any
 * call may. The pool's lock is held, and given up meanwhile. */
void lm_purge_early(struct lm_pool *pool, size_t given_count);

/* Turns the purge clock of every pool if its time has come, or goes on turning it, as far as the
 * effort does, which it takes from (provider.h). Cheap if there is nothing to do. Returns whether
 * there may be more of it. */
bool lm_pool_tick(uint64_t now_ms, size_t *effort);

/* Purges free pages of the pool now until about `keep_bytes` are left dirty in it. Returns whether
 * anything was given back. */
bool lm_pool_trim_one(struct lm_pool *pool, size_t keep_bytes);
/* The same for every pool. */
bool lm_pool_trim(size_t keep_bytes);

#endif
