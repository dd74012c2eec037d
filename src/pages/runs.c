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
  /* Where all is writable it has to be had in cores only, in large steps. */
  size_t step = lm_os.overcommit ? LM_CORE_STEP_BYTES >> LM_SLICE_SHIFT : 1;
  from = lm_align_down(from, step);
  to = lm_min(lm_align_up(to, step), region->bytes >> LM_SLICE_SHIFT);
  char *start = (char *)region + (from << LM_SLICE_SHIFT);
  size_t bytes = (to - from) << LM_SLICE_SHIFT;
  if (!lm_os.overcommit && lm_os_commit(start, bytes) != 0) return false;
  if (lm_os.overcommit) lm_os_put_into_cores(start, bytes);
  lm_bitmap_set(region->committed_slices, from, to);
  return true;
}

/* ---- Where runs are ---- */

/* A byte of run_limits is a length of up to 64 pages, or stands for steps of 16 above that. */
#define EXACT_PAGES 64
#define STEP_PAGES 16
#define LIMIT_MOST 127
#define EVERY_BYTE UINT64_C(0x0101010101010101)
#define HIGH_BITS (EVERY_BYTE << 7)

/* Of as many pages as are a whole number of steps. */
static size_t limit_of_steps(size_t length) {
  return lm_min(EXACT_PAGES + (length - EXACT_PAGES) / STEP_PAGES, LIMIT_MOST);
}

static size_t limit_of_run(size_t length) { /* rounded up */
  return length <= EXACT_PAGES ? length : limit_of_steps(length + STEP_PAGES - 1);
}

static size_t limit_wanted(size_t count) { /* rounded down */
  return count <= EXACT_PAGES ? count : limit_of_steps(count);
}

static void set_limit(struct lm_region *region, size_t w, size_t limit) {
  uint64_t changed = lm_runs_limit(region, w) ^ limit;
  region->run_limits[w / 8] ^= changed << (w % 8 * 8);
}

static void raise_limit(struct lm_region *region, size_t w, size_t length) {
  size_t limit = limit_of_run(length);
  if (lm_runs_limit(region, w) < limit) set_limit(region, w, limit);
}

bool lm_runs_limit_allows(const struct lm_region *region, size_t page, size_t length) {
  return limit_of_run(length) <= lm_runs_limit(region, page / 64);
}

static uint64_t free_word(const struct lm_region *region, size_t w) {
  return ~region->used_pages[w];
}

/* The length of the longest run of set bits, or `least` if that is more. */
static size_t longest_in_word(uint64_t word, size_t least) {
  while (word != 0) {
    word >>= __builtin_ctzll(word);
    if (word == ~(uint64_t)0) return lm_max(least, 64);
    unsigned length = (unsigned)__builtin_ctzll(~word);
    word >>= length;
    least = lm_max(least, length);
  }
  return least;
}

/* The length of the longest run that ends in word `w`: in it, or from the words before. */
static size_t longest_ending(const struct lm_region *region, size_t w) {
  uint64_t word = free_word(region, w);
  size_t first = w * 64, low = word == ~(uint64_t)0 ? 64 : (size_t)__builtin_ctzll(~word);
  size_t from = low == 0 ? first : lm_bitmap_find_last(region->used_pages, 0, first, 0);
  return longest_in_word(word, first - from + low);
}

/* The first page of a run of `count` free ones that ends in the word; LM_BITMAP_NONE if none is so
 * long, which is remembered. */
static size_t find_ending(struct lm_region *region, size_t w, size_t count) {
  uint64_t previous = w > 0 ? free_word(region, w - 1) : 0;
  uint64_t ends = lm_bits_run_ends(free_word(region, w), previous, lm_min(count, EXACT_PAGES));
  size_t end = w * 64 + (ends == 0 ? 0 : 64 - (size_t)__builtin_clzll(ends));
  if (LM_LIKELY(ends != 0 && count <= EXACT_PAGES)) return end - count;
  if (ends != 0 && end >= count &&
      lm_bitmap_find_last(region->used_pages, end - count, end, 0) == end - count)
    return end - count;
  set_limit(region, w, limit_of_run(longest_ending(region, w)));
  return LM_BITMAP_NONE;
}

size_t lm_runs_find_highest(struct lm_region *region, size_t count) {
  uint64_t wanted = limit_wanted(count) * EVERY_BYTE;
  for (size_t group = LM_BITMAP_WORDS(LM_REGION_MAX_PAGES) / 8; group-- > 0;) {
    /* A byte's high bit stays if its limit is not below what is wanted. */
    uint64_t fitting = ((region->run_limits[group] | HIGH_BITS) - wanted) & HIGH_BITS;
    while (fitting != 0) {
      size_t byte = (63 - (size_t)__builtin_clzll(fitting)) / 8;
      size_t page = find_ending(region, group * 8 + byte, count);
      if (LM_LIKELY(page != LM_BITMAP_NONE)) return page;
      fitting ^= (uint64_t)0x80 << (byte * 8);
    }
  }
  if (count <= region->run_limit) lm_directory_limit_runs(region, count - 1);
  return LM_BITMAP_NONE;
}

void lm_runs_begin(struct lm_region *region) {
  size_t end = region->bytes >> lm_os.page_shift;
  set_limit(region, (end - 1) / 64, LIMIT_MOST);
}

/* A run may be as long as the region, as far as is known without a look further than this. */
#define LOOKED_PAGES 1024

/* Where the run of free pages in front of the page begins; 0 if that is too far. */
static size_t run_start(const struct lm_region *region, size_t page) {
  size_t least = page > LOOKED_PAGES ? page - LOOKED_PAGES : 0;
  size_t from = lm_bitmap_find_last(region->used_pages, least, page, 0);
  return from == least ? 0 : from;
}

/* Pages are used from here on: what is left of their run below ends in front of them. */
static void note_used(struct lm_region *region, size_t page) {
  if (page == 0 || lm_bitmap_test(region->used_pages, page - 1)) return;
  raise_limit(region, (page - 1) / 64, page - run_start(region, page));
}

/* Pages have become free: what is the end of a run now? */
static void note_free(struct lm_region *region, size_t page, size_t count) {
  size_t to = lm_bitmap_find_set(region->used_pages, page + count, lm_pages_per_region());
  size_t run = to - run_start(region, page);
  if (run > region->run_limit) lm_directory_limit_runs(region, run);
  raise_limit(region, (to - 1) / 64, run);
}

/* ---- Taking and giving ---- */

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
  note_used(region, page);
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
  note_free(region, page, count);
  size_t dirty = lm_bitmap_count(region->dirty_pages, page, page + count);
  if (dirty > 0) mark_dirty_slices(region, page, count);
  add_dirty(region, dirty);
}
