#include "pages/runs.h"

#include "config/options.h"
#include "os/panic.h"
#include "pages/directory.h"
#include "pages/pressure.h"

static void add_dirty(struct lm_region *region, size_t count) {
  region->dirty_page_count += (uint32_t)count;
  size_t before = lm_load_relaxed(&region->pool->dirty_page_count);
  if (before == 0 && count > 0)
    region->pool->turned_ms = lm_os_clock_ms();
  lm_store_relaxed(&region->pool->dirty_page_count, before + count);
}

static void add_used(struct lm_pool *pool, size_t count) {
  lm_store_relaxed(&pool->used_page_count, lm_load_relaxed(&pool->used_page_count) + count);
}

static void remove_dirty(struct lm_region *region, size_t count) {
  size_t before = lm_load_relaxed(&region->pool->dirty_page_count);
  lm_assert(count <= region->dirty_page_count && count <= before);
  region->dirty_page_count -= (uint32_t)count;
  lm_store_relaxed(&region->pool->dirty_page_count, before - count);
}

/* Where a purge decommits, free pages that are dirty are committed, and others may not be. */
static bool commit_clean_pages(struct lm_region *region, size_t page, size_t count) {
  size_t end = page + count;
  if (lm_bitmap_find_clear(region->dirty_pages, page, end) == end) return true;
  void *start = lm_page_address(region, page);
  return lm_provider_commit(region->provider, start, count << lm_os.page_shift) == 0;
}

static bool commit_pages(struct lm_region *region, size_t page, size_t count) {
  if (region->decommits) return commit_clean_pages(region, page, count);
  lm_assert(count != 0 && page + count <= lm_pages_per_region());
  size_t from = lm_slice_of_page(page), to = lm_slice_of_page(page + count - 1) + 1;
  if (lm_bitmap_find_clear(region->committed_slices, from, to) == to) return true;
  char *start = (char *)region + (from << LM_SLICE_SHIFT);
  if (lm_os_commit(start, (to - from) << LM_SLICE_SHIFT) != 0) return false;
  lm_bitmap_set(region->committed_slices, from, to);
  return true;
}

/* In one word of the maps, `pages` are used from here on. Adds how many of them are dirty, and how
 * many were purged early. */
LM_INLINE void mark_used_word(struct lm_region *region, size_t w, uint64_t pages, size_t *dirty,
                              size_t *early) {
  uint64_t early_pages = early != NULL ? region->early_pages[w] & pages : 0;
  if (LM_UNLIKELY(early_pages != 0)) {
    *early += lm_bit_count(early_pages);
    region->early_pages[w] &= ~pages;
  }
  *dirty += lm_bitmap_count_word(region->dirty_pages[w] & pages);
  region->aged_pages[w] &= ~pages;
  region->used_pages[w] |= pages;
}

/* All maps in one pass: it is a good part of what a large block costs. `count` is not 0. Returns
 * how many pages are dirty, and adds those that were purged early, unless `early` is NULL. */
LM_INLINE size_t mark_in_maps(struct lm_region *region, size_t page, size_t count, size_t *early) {
  size_t dirty = 0, w = page / 64, last_page = page + count - 1;
  lm_assert(lm_bitmap_find_set(region->used_pages, page, page + count) == page + count);
  uint64_t pages = lm_bits_from(page);
  for (; w < last_page / 64; w++, pages = ~(uint64_t)0)
    mark_used_word(region, w, pages, &dirty, early);
  mark_used_word(region, w, pages & lm_bits_to(last_page), &dirty, early);
  if (dirty > 0) remove_dirty(region, dirty);
  lm_bitmap_set(region->used_slices, lm_slice_of_page(page), lm_slice_of_page(last_page) + 1);
  region->used_page_count += (uint32_t)count;
  add_used(region->pool, count);
  return dirty;
}

static void mark_used(struct lm_region *region, size_t page, size_t count, bool *zero) {
  size_t early = 0;
  *zero = mark_in_maps(region, page, count, &early) == 0;
  region->pool->credit_page_count -= (int64_t)early; /* to purge these was a mistake */
  lm_pressure_note_used(lm_load_relaxed(&region->pool->used_page_count));
}

bool lm_runs_take(struct lm_region *region, size_t page, size_t count, bool *zero) {
  if (!commit_pages(region, page, count)) return false;
  mark_used(region, page, count, zero);
  return true;
}

bool lm_runs_take_bare(struct lm_region *region, size_t page, size_t count, bool *zero) {
  if (!region->decommits) return lm_runs_take(region, page, count, zero);
  mark_used(region, page, count, zero);
  return true;
}

void lm_runs_hold(struct lm_region *region, size_t page, size_t count) {
  mark_in_maps(region, page, count, NULL);
}

size_t lm_runs_search_index(size_t count) {
  if (count <= LM_REGION_SEARCH_EXACT) return count;
  if (count >= LM_REGION_SEARCH_MAX) return LM_REGION_SEARCH_LAST;
  unsigned doubling = lm_log2_floor(count); /* 6 to 9 */
  return LM_REGION_SEARCH_EXACT + (doubling - 6) * 4 + ((count >> (doubling - 2)) & 3);
}

/* The length that has the index. */
static size_t search_length(size_t index) {
  if (index <= LM_REGION_SEARCH_EXACT) return index;
  size_t step = index - LM_REGION_SEARCH_EXACT;
  return (4 + step % 4) << (4 + step / 4);
}

/* Pages have become free: what is the end of a run now? Further than LM_REGION_SEARCH_MAX it need
 * not look, since a run that goes on for so long above is known already. */
static void widen_search(struct lm_region *region, size_t page, size_t count) {
  size_t most = LM_REGION_SEARCH_MAX, end = page + count;
  size_t from = lm_bitmap_find_last(region->used_pages, page > most ? page - most : 0, page, 0);
  size_t limit = lm_pages_per_region();
  size_t to = lm_bitmap_find_set(region->used_pages, end, lm_min(limit, end + most));
  /* How long one is that goes on for so long is not known. */
  size_t run = page - from == most || to - end == most ? limit : to - from;
  if (run > region->run_limit) lm_directory_limit_runs(region, run);
  for (size_t i = lm_runs_search_index(to - from); i > 0 && region->search_end[i] < to; i--)
    region->search_end[i] = (uint16_t)to;
}

void lm_runs_narrow_search(struct lm_region *region, size_t count, size_t end) {
  size_t i = lm_runs_search_index(count);
  if (search_length(i) < count) i++;
  for (; i <= LM_REGION_SEARCH_LAST && region->search_end[i] > end; i++)
    region->search_end[i] = (uint16_t)end;
  if (end == 0 && count <= region->run_limit) lm_directory_limit_runs(region, count - 1);
}

size_t lm_runs_longest(const struct lm_region *region) {
  size_t end = lm_pages_per_region(), longest = 0, to;
  size_t from = lm_bitmap_find_clear(region->used_pages, 0, end);
  for (; from < end; from = lm_bitmap_find_clear(region->used_pages, to, end)) {
    to = lm_bitmap_find_set(region->used_pages, from, end);
    longest = lm_max(longest, to - from);
  }
  return longest;
}

/* Marks slices as free that have no used page, when pages have become free. Only at the ends may
 * others have some. */
static void free_slices(struct lm_region *region, size_t page, size_t count) {
  size_t per_slice = lm_pages_per_slice();
  size_t from = lm_slice_of_page(page), to = lm_slice_of_page(page + count - 1) + 1;
  if (lm_bitmap_find_set(region->used_pages, from * per_slice, page) != page) from++;
  if (lm_bitmap_find_set(region->used_pages, page + count, to * per_slice) != to * per_slice) to--;
  if (from >= to) return;
  lm_bitmap_clear(region->used_slices, from, to);
  lm_directory_add_free(region);
}

static void mark_dirty_slices(struct lm_region *region, size_t page, size_t count) {
  lm_bitmap_set(region->dirty_slices, lm_slice_of_page(page),
                lm_slice_of_page(page + count - 1) + 1);
}

void lm_runs_give(struct lm_region *region, size_t page, size_t count) {
  lm_assert(lm_bitmap_find_clear(region->used_pages, page, page + count) == page + count);
  lm_assert(count <= region->used_page_count);
  lm_assert(region->used_page_count <= lm_load_relaxed(&region->pool->used_page_count));
  lm_bitmap_clear(region->used_pages, page, page + count);
  free_slices(region, page, count);
  region->used_page_count -= (uint32_t)count;
  add_used(region->pool, (size_t)0 - count);
  widen_search(region, page, count);
  size_t dirty = lm_bitmap_count(region->dirty_pages, page, page + count);
  if (dirty > 0) mark_dirty_slices(region, page, count);
  add_dirty(region, dirty);
}
