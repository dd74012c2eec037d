/* Giving free dirty pages of pools back to the system: early, by the clock, on demand. pool.h says
 * when, and declares the clock and the demand. (Rejected: a bound beyond which all goes at once.
 * Who takes again what he has freed some milliseconds ago would pay a fault for each page.) */
#ifndef LM_PAGES_PURGE_H
#define LM_PAGES_PURGE_H

#include "pages/pool.h"

/* Purges early if there is much to purge and credit for it, and turns the clock if there is so much
 * that it hurries: as much as has been given by the call, `given_count` pages, or as much as any
 * call may. The pool's lock is held, and given up meanwhile. */
void lm_purge_early(struct lm_pool *pool, size_t given_count);

#endif
