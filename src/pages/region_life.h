/* How a region begins, in memory of its pool's provider, and how it ends. Where there are no more
 * explicit pages it is of ordinary ones, and under a limit of address space a shorter one. */
#ifndef LM_PAGES_REGION_LIFE_H
#define LM_PAGES_REGION_LIFE_H

#include "pages/pool.h"

/* A new region of the pool that may have a run of so many free pages; or NULL. The pool's lock need
 * not be held. */
struct lm_region *lm_region_new(struct lm_pool *pool, size_t page_count);
/* Gives an empty region back to the system. */
void lm_region_end(struct lm_region *region);

#endif
