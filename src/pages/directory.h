/* A pool's regions, by number, and beside them how long their runs are, so that a search passes
 * over those that have none without reading a line of theirs. One that leaves gives its number to
 * the last: whoever goes through all of them goes down, and misses none. The pool's lock is held.
 *
 * (Rejected: the limits in the regions' own headers. With hundreds of regions a search would read a
 * line of each.) */
#ifndef LM_PAGES_DIRECTORY_H
#define LM_PAGES_DIRECTORY_H

#include "pages/pool.h"

_Static_assert(LM_REGION_MAX_PAGES <= UINT16_MAX, "limits of runs have 16 bits");

/* False if there is no memory for it. The region has one run of free pages, of any length. */
bool lm_directory_add(struct lm_pool *pool, struct lm_region *region);

void lm_directory_remove(struct lm_pool *pool, struct lm_region *region);

/* The region with the next number below; NULL if there is none. */
LM_INLINE struct lm_region *lm_directory_below(const struct lm_pool *pool, size_t number) {
  size_t count = lm_load_relaxed(&pool->region_count);
  number = lm_min(number, count);
  return number == 0 ? NULL : pool->directory[number - 1];
}

/* For each of the pool's regions, of which none is removed meanwhile. */
#define LM_FOR_EACH_REGION(pool, region)                                                \
  for (struct lm_region *region = lm_directory_below(pool, SIZE_MAX); region != NULL;   \
       region = lm_directory_below(pool, region->number))

/* Takes all regions out. */
void lm_directory_clear(struct lm_pool *pool);

/* The number of the first region from `number` on that may have a run of so many pages and, with
 * `slice`, a free slice; region_count if none may. */
size_t lm_directory_find(struct lm_pool *pool, size_t number, size_t page_count, bool slice);

/* A search passes over so many at a time. */
#define LM_DIRECTORY_GROUP 32

/* No run of the region's has more pages. */
LM_INLINE void lm_directory_limit_runs(struct lm_region *region, size_t page_count) {
  struct lm_pool *pool = region->pool;
  region->run_limit = (uint32_t)page_count;
  pool->run_limits[region->number] = (uint16_t)page_count;
  uint16_t *of_group = &pool->group_run_limits[region->number / LM_DIRECTORY_GROUP];
  *of_group = (uint16_t)lm_max(*of_group, page_count);
}

/* Slices of the region's have become free. */
LM_INLINE void lm_directory_add_free(struct lm_region *region) {
  struct lm_pool *pool = region->pool;
  pool->has_slice[region->number] = true;
  pool->group_has_slice[region->number / LM_DIRECTORY_GROUP] = true;
}

/* The region has no free slice, as a search has found. */
LM_INLINE void lm_directory_remove_free(struct lm_region *region) {
  region->pool->has_slice[region->number] = false;
}

#endif
