#include "pages/valid.h"

#if LM_VALIDATES

#include "os/panic.h"
#include "pages/chunk.h"
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
  if (!is_used) lm_must(page + 1 <= region->search_end[lm_runs_search_index(free_run)]);
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
static void validate_free_kinds(const struct lm_region *region) {
  const struct lm_pool *pool = region->pool;
  unsigned kinds = pool->free_kinds[region->number];
  unsigned of_group = pool->group_free_kinds[region->number / LM_DIRECTORY_GROUP];
  lm_must((kinds & ~of_group) == 0);
  for (size_t slice = region->first_slice; slice < LM_REGION_SLICES; slice++) {
    if (lm_bitmap_test(region->used_slices, slice)) continue;
    lm_must((kinds & LM_FREE_SLICE) != 0);
    if (region->group_owners[slice / LM_GROUP_SLICES] == 0) lm_must((kinds & LM_FREE_GROUP) != 0);
  }
}

void lm_pool_validate(struct lm_pool *pool) {
  size_t used = 0, dirty = 0, count = 0;
  lm_lock_take(&pool->lock);
  LM_FOR_EACH_REGION(pool, region) {
    lm_must(region->pool == pool);
    lm_must(region->run_limit == pool->run_limits[region->number]);
    lm_must(region->run_limit <= pool->group_run_limits[region->number / LM_DIRECTORY_GROUP]);
    validate_region(region);
    validate_free_kinds(region);
    count++;
    used += region->used_page_count;
    dirty += region->dirty_page_count;
  }
  lm_must(count == lm_load_relaxed(&pool->region_count));
  lm_must(used == pool->used_page_count);
  lm_must(dirty == lm_load_relaxed(&pool->dirty_page_count));
  lm_lock_free(&pool->lock);
}

void lm_chunk_validate(const struct lm_span *span) {
  const struct lm_chunk *chunk = lm_chunk_of_span(span);
  size_t end = lm_chunk_pages(), dirty = 0, run = 0, longest = 0, next_block = 0;
  size_t run_word = 0; /* where the run begins */
  /* Of runs that could not be committed it is forgotten that they are there. */
  bool exact = !lm_region_of(span)->decommits;
  for (size_t page = 0; page < end; page++) {
    const char *address = lm_span_start(span) + page * lm_os.page_bytes;
    bool is_used = lm_bitmap_test(chunk->used_pages, page);
    bool is_dirty = lm_bitmap_test(chunk->dirty_pages, page);
    if (lm_region_block_pages(address) != 0) {
      lm_must(page >= next_block);
      next_block = page + lm_region_block_pages(address);
    }
    lm_must(is_used == (page < next_block));
    if (is_used) lm_must(is_dirty);
    if (lm_bitmap_test(chunk->aged_pages, page)) lm_must(is_dirty && !is_used);
    if (lm_bitmap_test(chunk->early_pages, page)) lm_must(!is_used);
    dirty += is_dirty && !is_used;
    run = is_used ? 0 : run + 1;
    if (run == 1) run_word = page / 64;
    longest = lm_max(longest, run);
    size_t word_limit = (chunk->run_limits >> (run_word * 8)) & 0xff;
    if (exact) lm_must(lm_min(run, LM_CHUNK_RUN_MAX) <= word_limit);
  }
  lm_must(lm_bitmap_count(chunk->used_pages, 0, end) == span->used_count);
  lm_must(lm_load_relaxed(&chunk->used_count) == span->used_count);
  lm_must(lm_load_relaxed(&chunk->dirty_count) == dirty);
  if (exact) lm_must(lm_min(longest, LM_CHUNK_RUN_MAX) <= chunk->run_limit);
}

#endif
