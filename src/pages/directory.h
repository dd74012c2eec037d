/* A pool's regions: a list of them, and a directory, in which a search finds those that may have a
 * run as long as it needs without reading a line of each region's. The pool's lock is held. */
#ifndef LM_PAGES_DIRECTORY_H
#define LM_PAGES_DIRECTORY_H

#include "pages/pool.h"

/* False if there is no memory for it. The region has one run of free pages, of any length. */
bool lm_directory_add(struct lm_pool *pool, struct lm_region *region);

/* `previous` stands before it in the list; NULL: it is the first. */
void lm_directory_remove(struct lm_pool *pool, struct lm_region *region,
                         struct lm_region *previous);

/* Takes all regions out. */
void lm_directory_clear(struct lm_pool *pool);

/* The number of the first region from `number` on that may have a run of so many pages;
 * region_count if none may. */
size_t lm_directory_find(const struct lm_pool *pool, size_t number, size_t page_count);

/* No run of the region's has more pages. */
LM_INLINE void lm_directory_limit_runs(struct lm_region *region, size_t page_count) {
  region->run_limit = (uint32_t)page_count;
  region->pool->run_limits[region->number] = (uint16_t)page_count;
}

#endif
