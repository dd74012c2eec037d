#include "pages/valid.h"

#if LM_VALIDATES

#include "os/panic.h"
#include "pages/directory.h"
#include "pages/runs.h"

/* Of one page, which ends a run of so many free ones. */
static void validate_page(const struct lm_region *region, size_t page, size_t free_run) {
  bool is_used = lm_bitmap_test(region->used_pages, page);
  if (lm_bitmap_test(region->aged_pages, page))
    lm_must(!is_used && lm_bitmap_test(region->dirty_pages, page));
  if (is_used && !region->decommits)
    lm_must(lm_bitmap_test(region->committed_slices, lm_slice_of_page(page)));
  lm_must(free_run <= region->run_limit);
  bool ends = page + 1 == lm_pages_per_region() || lm_bitmap_test(region->used_pages, page + 1);
  if (!is_used && ends) lm_must(lm_runs_limit_allows(region, page, free_run));
}

/* Of a shorter one, pages behind its end count as used, and as nobody's. */
static void validate_region(const struct lm_region *region) {
  size_t end = region->bytes >> lm_os.page_shift, per_slice = lm_pages_per_slice();
  size_t header = region->first_slice * per_slice;
  size_t free_dirty = 0, free_run = 0;
  lm_must(lm_bitmap_count(region->used_pages, header, end) == region->used_page_count);
  lm_must(lm_bitmap_count(region->used_pages, 0, header) == header);
  for (size_t page = 0; page < end; page++) {
    bool is_used = lm_bitmap_test(region->used_pages, page);
    free_dirty += !is_used && lm_bitmap_test(region->dirty_pages, page);
    free_run = is_used ? 0 : free_run + 1;
    validate_page(region, page, free_run);
  }
  lm_must(free_dirty == region->dirty_page_count);
  size_t all = lm_pages_per_region();
  lm_must(lm_bitmap_find_clear(region->used_pages, end, all) == all);
  for (size_t slice = 0; slice < LM_REGION_SLICES; slice++) {
    size_t from = slice * per_slice, to = from + per_slice;
    bool any_used = lm_bitmap_find_set(region->used_pages, from, to) != to;
    lm_must(lm_bitmap_test(region->used_slices, slice) == any_used);
  }
}

/* The directory knows what is free. */
static void validate_directory(const struct lm_region *region) {
  const struct lm_pool *pool = region->pool;
  size_t group = region->number / LM_DIRECTORY_GROUP;
  lm_must(region->run_limit == pool->run_limits[region->number]);
  lm_must(region->run_limit <= pool->group_run_limits[group]);
  lm_must(pool->has_slice[region->number] <= pool->group_has_slice[group]);
  size_t free_slice = lm_bitmap_find_clear(region->used_slices, 0, LM_REGION_SLICES);
  lm_must(free_slice == LM_REGION_SLICES || pool->has_slice[region->number]);
}

void lm_pool_validate(struct lm_pool *pool) {
  size_t used = 0, dirty = 0, count = 0;
  lm_lock_take(&pool->lock);
  LM_FOR_EACH_REGION(pool, region) {
    lm_must(region->pool == pool);
    validate_region(region);
    validate_directory(region);
    count++;
    used += region->used_page_count;
    dirty += region->dirty_page_count;
  }
  lm_must(count == lm_load_relaxed(&pool->region_count));
  lm_must(used == lm_load_relaxed(&pool->used_page_count));
  lm_must(dirty == lm_load_relaxed(&pool->dirty_page_count));
  lm_lock_free(&pool->lock);
}

#endif
