#include "pages/pool.h"

#include "config/options.h"

#include <string.h>

struct lm_pool lm_pools[LM_POOL_MAX];
unsigned lm_pool_count = 1;

void lm_pool_start(void) {
  size_t count = (lm_os.cpu_count + LM_CPUS_PER_POOL - 1) / LM_CPUS_PER_POOL;
  lm_pool_count = (unsigned)lm_min(count, LM_POOL_MAX);
  for (size_t i = 0; i < LM_POOL_MAX; i++) lm_pools[i].lock.rank = LM_RANK_POOL;
}

static size_t pages_per_slice(void) { return LM_SLICE_BYTES >> lm_os.page_shift; }
static size_t pages_per_region(void) { return LM_REGION_BYTES >> lm_os.page_shift; }

static char *page_address(struct lm_region *region, size_t page) {
  return (char *)region + (page << lm_os.page_shift);
}

static size_t page_of(const void *address) {
  return lm_region_offset(address) >> lm_os.page_shift;
}

/* ---- Runs of pages in a region, the pool's lock held ---- */

static void add_dirty(struct lm_region *region, size_t count) {
  region->dirty_page_count += (uint32_t)count;
  size_t before = lm_load_relaxed(&region->pool->dirty_page_count);
  if (before == 0 && count > 0)
    region->pool->purge_due_ms = lm_os_clock_ms() + lm_options.purge_delay_ms / 2;
  lm_store_relaxed(&region->pool->dirty_page_count, before + count);
}

static void remove_dirty(struct lm_region *region, size_t count) {
  region->dirty_page_count -= (uint32_t)count;
  size_t before = lm_load_relaxed(&region->pool->dirty_page_count);
  lm_store_relaxed(&region->pool->dirty_page_count, before - count);
}

/* Pages that were purged early are taken again: that was a mistake. */
static void regret_early(struct lm_region *region, size_t page, size_t count) {
  size_t early = lm_bitmap_count(region->early_pages, page, page + count);
  if (early == 0) return;
  lm_bitmap_clear(region->early_pages, page, page + count);
  region->pool->credit_page_count -= (int64_t)early;
}

static bool commit_pages(struct lm_region *region, size_t page, size_t count) {
  size_t from = page / pages_per_slice();
  size_t to = (page + count - 1) / pages_per_slice() + 1;
  if (lm_bitmap_find_clear(region->committed_slices, from, to) == to) return true;
  char *start = (char *)region + (from << LM_SLICE_SHIFT);
  if (lm_os_commit(start, (to - from) << LM_SLICE_SHIFT) != 0) return false;
  lm_bitmap_set(region->committed_slices, from, to);
  return true;
}

/* Marks free pages as used. Returns false, with nothing changed, if they cannot be committed. */
static bool take_pages(struct lm_region *region, size_t page, size_t count, bool *zero) {
  if (!commit_pages(region, page, count)) return false;
  size_t dirty = lm_bitmap_count(region->dirty_pages, page, page + count);
  if (dirty > 0) {
    lm_bitmap_clear(region->aged_pages, page, page + count);
    remove_dirty(region, dirty);
  }
  regret_early(region, page, count);
  *zero = dirty == 0;
  lm_bitmap_set(region->used_pages, page, page + count);
  lm_bitmap_set(region->used_slices, page / pages_per_slice(),
                (page + count - 1) / pages_per_slice() + 1);
  region->used_page_count += (uint32_t)count;
  region->pool->used_page_count += count;
  return true;
}

/* Pages have become free: what is the end of a run now? Further than LM_REGION_SEARCH_PAGES it need
 * not look, since a run that goes on for so long above is known already. */
static void widen_search(struct lm_region *region, size_t page, size_t count) {
  size_t most = LM_REGION_SEARCH_PAGES, end = page + count;
  size_t from = lm_bitmap_find_last(region->used_pages, page > most ? page - most : 0, page, 0);
  size_t to = lm_bitmap_find_set(region->used_pages, end, lm_min(pages_per_region(), end + most));
  region->run_limit = (uint32_t)pages_per_region();
  for (size_t n = lm_min(to - from, most); n > 0 && region->search_end[n] < to; n--)
    region->search_end[n] = (uint16_t)to;
}

/* No run of `count` pages or more ends above page `end`. */
static void narrow_search(struct lm_region *region, size_t count, size_t end) {
  for (size_t n = count; n <= LM_REGION_SEARCH_PAGES && region->search_end[n] > end; n++)
    region->search_end[n] = (uint16_t)end;
  if (end == 0) region->run_limit = (uint32_t)lm_min(region->run_limit, count - 1);
}

/* Marks used pages as free, the first `touched` of them as dirty. Others that are dirty from before
 * have been of no use for a while: they are due at the next turn of the clock. */
static void give_pages(struct lm_region *region, size_t page, size_t count, size_t touched) {
  lm_bitmap_set(region->dirty_pages, page, page + touched);
  for (size_t w = (page + touched) / 64; w * 64 < page + count; w++)
    region->aged_pages[w] |=
        region->dirty_pages[w] & lm_bitmap_mask(w, page + touched, page + count);
  lm_bitmap_clear(region->used_pages, page, page + count);
  size_t per_slice = pages_per_slice();
  for (size_t s = page / per_slice; s <= (page + count - 1) / per_slice; s++) {
    size_t from = s * per_slice;
    if (lm_bitmap_find_set(region->used_pages, from, from + per_slice) == from + per_slice)
      lm_bitmap_clear(region->used_slices, s, s + 1);
  }
  region->used_page_count -= (uint32_t)count;
  region->pool->used_page_count -= count;
  widen_search(region, page, count);
  add_dirty(region, lm_bitmap_count(region->dirty_pages, page, page + count));
}

/* ---- Purging runs ---- */

/* Purges one run of free dirty pages, at most 16 MiB of it, without the lock: the pages are marked
 * as used meanwhile. With `aged_only`, only such pages. Returns how many pages; 0 if none is left
 * from `*from_page` on. The lock is held on entry and exit. */
#define PURGE_RUN_MAX_BYTES (16 * LM_MIB)
static size_t purge_run(struct lm_region *region, bool aged_only, size_t *from_page) {
  const uint64_t *candidates = aged_only ? region->aged_pages : region->dirty_pages;
  size_t end = pages_per_region();
  size_t from = *from_page;
  do {
    from = lm_bitmap_find_set(candidates, from, end);
    if (from == end) return 0;
    size_t used_end = lm_bitmap_find_clear(region->used_pages, from, end);
    if (used_end == from) break;
    from = used_end;
  } while (from < end);
  if (from == end) return 0;
  size_t to = lm_min(end, from + (PURGE_RUN_MAX_BYTES >> lm_os.page_shift));
  to = lm_bitmap_find_set(region->used_pages, from, to);
  to = lm_bitmap_find_clear(candidates, from, to);
  bool zero;
  *from_page = to;
  if (!take_pages(region, from, to - from, &zero)) return 0;
  lm_lock_free(&region->pool->lock);
  bool purged = lm_os_purge(page_address(region, from), (to - from) << lm_os.page_shift) == 0;
  lm_lock_take(&region->pool->lock);
  if (purged) {
    lm_bitmap_clear(region->dirty_pages, from, to);
    region->pool->purged_page_count += to - from;
    region->pool->purge_count++;
  }
  give_pages(region, from, to - from, 0);
  return to - from;
}

/* Adds the credit that has grown since the last time. */
static void grow_credit(struct lm_pool *pool) {
  uint64_t now_ms = lm_os_clock_ms();
  int64_t limit = (int64_t)(LM_POOL_CREDIT_BYTES >> lm_os.page_shift);
  uint64_t elapsed_ms = lm_min(now_ms - pool->credit_ms, LM_POOL_CREDIT_MS);
  if (pool->credit_ms == 0) elapsed_ms = LM_POOL_CREDIT_MS;
  pool->credit_page_count += limit * (int64_t)elapsed_ms / LM_POOL_CREDIT_MS;
  if (pool->credit_page_count > limit) pool->credit_page_count = limit;
  pool->credit_ms = now_ms;
}

/* Purges early if there is much to purge and credit for it. The lock is held. */
static void purge_early(struct lm_pool *pool) {
  size_t keep = ((LM_POOL_KEEP_BYTES / lm_pool_count) >> lm_os.page_shift) +
                pool->used_page_count / 16;
  if (lm_load_relaxed(&pool->dirty_page_count) <= keep || lm_options.purge_delay_ms == 0) return;
  grow_credit(pool);
  for (struct lm_region *region = pool->regions; region != NULL; region = region->next) {
    size_t from = 0, count;
    while (pool->credit_page_count > 0 && lm_load_relaxed(&pool->dirty_page_count) > keep / 2 &&
           (count = purge_run(region, false, &from)) != 0)
      lm_bitmap_set(region->early_pages, from - count, from);
  }
}

/* ---- Spans ---- */

/* The lowest free slice of which some pages are dirty, among the first few; or LM_BITMAP_NONE. */
#define DIRTY_SLICE_TRIES 32
static size_t find_dirty_slice(const struct lm_region *region) {
  size_t slice = region->first_slice, per_slice = pages_per_slice();
  if (region->dirty_page_count == 0) return LM_BITMAP_NONE;
  for (int i = 0; i < DIRTY_SLICE_TRIES; i++, slice++) {
    slice = lm_bitmap_find_clear(region->used_slices, slice, LM_REGION_SLICES);
    if (slice == LM_REGION_SLICES) return LM_BITMAP_NONE;
    size_t from = slice * per_slice;
    if (lm_bitmap_find_set(region->dirty_pages, from, from + per_slice) < from + per_slice)
      return slice;
  }
  return LM_BITMAP_NONE;
}

static void *take_slices_in(struct lm_region *region, size_t slice_count, size_t alignment,
                            bool *zero) {
  (void)alignment; /* all slices are aligned alike */
  size_t page_count = slice_count * pages_per_slice();
  if (region->run_limit < page_count) return NULL;
  size_t slice = slice_count == 1 ? find_dirty_slice(region) : LM_BITMAP_NONE;
  if (slice == LM_BITMAP_NONE)
    slice = lm_bitmap_lowest_run(region->used_slices, region->first_slice, LM_REGION_SLICES,
                                 slice_count);
  if (slice == LM_BITMAP_NONE) return NULL;
  if (!take_pages(region, slice * pages_per_slice(), page_count, zero)) return NULL;
  region->pool->span_slice_count += slice_count;
  return (char *)region + (slice << LM_SLICE_SHIFT);
}

/* A run in one of the pool's regions, or in a new one; the lock is held on entry and exit. */
static void *take_run(struct lm_pool *pool, size_t count, size_t alignment, bool *zero,
                      void *(*take_in)(struct lm_region *, size_t, size_t, bool *)) {
  struct lm_region **link = &pool->regions;
  for (; *link != NULL; link = &(*link)->next) {
    void *run = take_in(*link, count, alignment, zero);
    if (run != NULL) return run;
  }
  struct lm_region *region = lm_region_new(pool);
  if (region == NULL) return NULL;
  void *run = take_in(region, count, alignment, zero);
  if (run == NULL) { /* its pages cannot be committed */
    lm_region_end(region);
    return NULL;
  }
  *link = region;
  pool->region_count++;
  return run;
}

void *lm_pool_take_slices(struct lm_pool *pool, size_t slice_count, bool *zero) {
  lm_lock_take(&pool->lock);
  void *run = take_run(pool, slice_count, LM_SLICE_BYTES, zero, take_slices_in);
  lm_lock_free(&pool->lock);
  return run;
}

void lm_pool_give_slices(void *start, size_t slice_count, size_t touched_bytes) {
  struct lm_region *region = lm_region_of(start);
  size_t touched = lm_align_up(touched_bytes, lm_os.page_bytes) >> lm_os.page_shift;
  lm_lock_take(&region->pool->lock);
  region->pool->span_slice_count -= slice_count;
  give_pages(region, page_of(start), slice_count * pages_per_slice(), touched);
  purge_early(region->pool);
  lm_lock_free(&region->pool->lock);
}

bool lm_pool_purge_unused(char *start, char *end) {
  struct lm_region *region = lm_region_of(start);
  start = (char *)lm_align_up((uintptr_t)start, lm_os.page_bytes);
  if (start >= end) return true;
  if (lm_os_purge(start, (size_t)(end - start)) != 0) return false;
  size_t page = page_of(start), count = (size_t)(end - start) >> lm_os.page_shift;
  lm_lock_take(&region->pool->lock);
  lm_bitmap_clear(region->dirty_pages, page, page + count);
  region->pool->purged_page_count += count;
  region->pool->purge_count++;
  lm_lock_free(&region->pool->lock);
  return true;
}

/* ---- Large blocks ---- */

#define LARGE_HIDDEN ((uint32_t)1 << 31) /* in large_pages: in a heap's cache */

static void *take_large_in(struct lm_region *region, size_t page_count, size_t alignment,
                           bool *zero) {
  if (region->run_limit < page_count) return NULL;
  size_t alignment_pages = lm_max(1, alignment >> lm_os.page_shift);
  size_t first = region->first_slice * pages_per_slice();
  size_t end = region->search_end[lm_min(page_count, LM_REGION_SEARCH_PAGES)];
  size_t page = lm_bitmap_highest_run(region->used_pages, first, end, page_count, alignment_pages);
  if (alignment_pages == 1)
    narrow_search(region, page_count, page == LM_BITMAP_NONE ? 0 : page + page_count);
  if (page == LM_BITMAP_NONE) return NULL;
  if (!take_pages(region, page, page_count, zero)) return NULL;
  void *block = page_address(region, page);
  lm_tags_write(block, LM_TAG_LARGE);
  lm_store_relaxed(&region->spans[page / pages_per_slice()].tag, LM_TAG_LARGE);
  lm_store_relaxed(&region->large_pages[page], (uint32_t)page_count);
  region->pool->large_count++;
  region->pool->large_page_count += page_count;
  return block;
}

void *lm_pool_take_large(struct lm_pool *pool, size_t page_count, size_t alignment, bool *zero) {
  lm_lock_take(&pool->lock);
  void *run = take_run(pool, page_count, alignment, zero, take_large_in);
  lm_lock_free(&pool->lock);
  return run;
}

void lm_pool_clear_large(void *block, size_t page_count) {
  struct lm_region *region = lm_region_of(block);
  size_t page = page_of(block), end = page + page_count;
  while (page < end) {
    /* The bits of our own pages stand still, but share words with those of others. */
    lm_lock_take(&region->pool->lock);
    size_t from = lm_bitmap_find_set(region->dirty_pages, page, end);
    size_t to = lm_bitmap_find_clear(region->dirty_pages, from, end);
    lm_lock_free(&region->pool->lock);
    memset(page_address(region, from), 0, (to - from) << lm_os.page_shift);
    page = to;
  }
}

size_t lm_pool_large_pages(const void *address) {
  if (((uintptr_t)address & (lm_os.page_bytes - 1)) != 0) return 0;
  uint32_t page_count = lm_load_relaxed(&lm_region_of(address)->large_pages[page_of(address)]);
  return page_count & LARGE_HIDDEN ? 0 : page_count;
}

size_t lm_pool_hide_large(void *block) {
  size_t page_count = lm_pool_large_pages(block);
  if (page_count != 0)
    lm_store_relaxed(&lm_region_of(block)->large_pages[page_of(block)],
                     (uint32_t)page_count | LARGE_HIDDEN);
  return page_count;
}

void lm_pool_show_large(void *block) {
  _Atomic(uint32_t) *entry = &lm_region_of(block)->large_pages[page_of(block)];
  lm_store_relaxed(entry, lm_load_relaxed(entry) & ~LARGE_HIDDEN);
}

bool lm_pool_is_free(const void *address) {
  struct lm_region *region = lm_region_of(address);
  lm_lock_take(&region->pool->lock);
  bool used = lm_bitmap_test(region->used_pages, page_of(address));
  lm_lock_free(&region->pool->lock);
  return !used;
}

bool lm_pool_give_large(void *block) {
  struct lm_region *region = lm_region_of(block);
  struct lm_pool *pool = region->pool;
  lm_lock_take(&pool->lock);
  size_t page_count = lm_pool_large_pages(block);
  if (page_count != 0) {
    lm_store_relaxed(&region->large_pages[page_of(block)], 0);
    pool->large_count--;
    pool->large_page_count -= page_count;
    give_pages(region, page_of(block), page_count, page_count);
    purge_early(pool);
  }
  lm_lock_free(&pool->lock);
  return page_count != 0;
}

bool lm_pool_resize_large(void *block, size_t page_count) {
  struct lm_region *region = lm_region_of(block);
  struct lm_pool *pool = region->pool;
  size_t page = page_of(block);
  bool done = true, zero;
  lm_lock_take(&pool->lock);
  size_t old_count = lm_pool_large_pages(block);
  if (page_count > old_count) {
    size_t from = page + old_count, to = page + page_count;
    done = to <= pages_per_region() && lm_bitmap_find_set(region->used_pages, from, to) == to &&
           take_pages(region, from, to - from, &zero);
  } else if (page_count < old_count) {
    give_pages(region, page + page_count, old_count - page_count, old_count - page_count);
  }
  if (done) {
    lm_store_relaxed(&region->large_pages[page], (uint32_t)page_count);
    pool->large_page_count += page_count - old_count;
  }
  lm_lock_free(&pool->lock);
  return done;
}

void lm_pool_forget_large(void *block) {
  struct lm_region *region = lm_region_of(block);
  struct lm_pool *pool = region->pool;
  size_t page = page_of(block);
  lm_lock_take(&pool->lock);
  size_t page_count = lm_pool_large_pages(block);
  lm_store_relaxed(&region->large_pages[page], 0);
  lm_bitmap_clear(region->dirty_pages, page, page + page_count);
  pool->large_count--;
  pool->large_page_count -= page_count;
  give_pages(region, page, page_count, 0);
  lm_lock_free(&pool->lock);
}

/* ---- The purge clock ---- */

/* Whatever is free and dirty now, and still is at the next turn, is purged then. */
static void age_pages(struct lm_region *region) {
  for (size_t w = 0; w < LM_BITMAP_WORDS(LM_REGION_MAX_PAGES); w++)
    region->aged_pages[w] = region->dirty_pages[w] & ~region->used_pages[w];
  memset(region->early_pages, 0, sizeof region->early_pages);
}

/* An empty region goes back whole, unless it is the pool's only one. */
static bool end_empty_regions(struct lm_pool *pool) {
  bool any = false;
  struct lm_region **link = &pool->regions;
  while (*link != NULL && pool->region_count > 1) {
    struct lm_region *region = *link;
    if (region->used_page_count == 0 && region->dirty_page_count == 0) {
      *link = region->next;
      pool->region_count--;
      lm_region_end(region);
      any = true;
    } else {
      link = &region->next;
    }
  }
  return any;
}

static void turn_clock(struct lm_pool *pool, uint64_t now_ms) {
  lm_lock_take(&pool->lock);
  if (now_ms >= pool->purge_due_ms) {
    pool->purge_due_ms = now_ms + lm_options.purge_delay_ms / 2;
    for (struct lm_region *region = pool->regions; region != NULL; region = region->next) {
      if (region->dirty_page_count == 0) continue;
      for (size_t from = 0; purge_run(region, true, &from) != 0;) {}
      age_pages(region);
    }
    end_empty_regions(pool);
  }
  lm_lock_free(&pool->lock);
}

void lm_pool_tick(uint64_t now_ms) {
  if (lm_options.purge_delay_ms == 0) return;
  for (unsigned i = 0; i < lm_pool_count; i++) {
    struct lm_pool *pool = &lm_pools[i];
    if (lm_load_relaxed(&pool->dirty_page_count) != 0) turn_clock(pool, now_ms);
  }
}

bool lm_pool_trim(size_t keep_bytes) {
  bool any = false;
  for (unsigned i = 0; i < lm_pool_count; i++) {
    struct lm_pool *pool = &lm_pools[i];
    size_t keep_pages = keep_bytes >> lm_os.page_shift;
    lm_lock_take(&pool->lock);
    uint64_t count_before = pool->purge_count;
    for (struct lm_region *region = pool->regions; region != NULL; region = region->next) {
      size_t from = 0;
      while (lm_load_relaxed(&pool->dirty_page_count) > keep_pages &&
             purge_run(region, false, &from) != 0) {}
    }
    any |= pool->purge_count != count_before;
    any |= end_empty_regions(pool);
    lm_lock_free(&pool->lock);
  }
  return any;
}
