/* Giving free dirty pages of pools back to the system: early, by the clock, on demand. pool.h says
 * when, and declares the clock and the demand. */
#ifndef LM_PAGES_PURGE_H
#define LM_PAGES_PURGE_H

#include "pages/pool.h"

/* Purges early if there is much to purge and credit for it. The pool's lock is held, and given up
 * meanwhile. */
void lm_purge_early(struct lm_pool *pool);

#endif
