#include "pages/pool_take.h"

#include "config/options.h"
#include "os/panic.h"
#include "pages/directory.h"
#include "pages/explicit.h"
#include "pages/purge.h"
#include "pages/region_life.h"
#include "pages/runs.h"

#include <string.h>

void lm_pool_begin_huge(void) {
  if (LM_OPTION(huge_pages) == LM_HUGE_PAGES_SYSTEM) return;
  for (struct lm_pool *pool = lm_pools; pool != NULL; pool = lm_pool_next(pool)) {
    lm_lock_take(&pool->lock);
    LM_FOR_EACH_REGION(pool, region)
      lm_provider_begin_huge(region->provider, region, region->bytes, pool->accepts_huge);
    lm_lock_free(&pool->lock);
  }
}

/* So much must be in use before a pool's regions take huge pages from a system that gives them to
 * everybody: what is thinly spread would cost 2 MiB each time. */
#define HUGE_MIN_BYTES (16 * LM_MIB)

/* The lock is held. */
static void accept_huge(struct lm_pool *pool) {
  if (pool->accepts_huge) return;
  pool->accepts_huge = true;
  LM_FOR_EACH_REGION(pool, region)
    lm_provider_accept_huge(region->provider, region, region->bytes);
}

void lm_pool_release(struct lm_pool *pool) {
  lm_lock_take(&pool->lock);
  for (size_t number = lm_load_relaxed(&pool->region_count); number-- > 0;)
    lm_region_end(pool->directory[number]);
  lm_directory_clear(pool);
  /* In the child of a fork there may be blocks that somebody was about to free. */
  pool->span_slice_count = 0;
  lm_store_relaxed(&pool->used_page_count, 0);
  pool->large_count = pool->large_page_count = 0;
  lm_store_relaxed(&pool->dirty_page_count, 0);
  lm_lock_free(&pool->lock);
}

/* ---- Runs, of whatever ---- */

/* What is wanted of a region. */
struct run {
  size_t page_count;
  size_t search_count;     /* so long a free run is looked for: as long, or, so that there is an
                            * aligned one in any case, longer */
  size_t alignment_pages;  /* blocks */
  size_t gap_count;        /* blocks: pages to leave above */
  size_t slice_count;      /* spans: page_count in slices; 0: it is for a block */
  uint32_t *region_number; /* where a search begins, and then where it has ended; or NULL */
  bool *zero;
};

typedef void *take_in_function(struct lm_region *region, const struct run *run);

/* Whether the pool's provider has made the region, which may be of explicit pages or of ordinary
 * ones. */
static bool is_of_provider(const struct lm_pool *pool, const struct lm_region *region) {
  const struct loam_page_provider *provider = lm_load_relaxed(&pool->provider);
  return provider == NULL || provider == &lm_explicit_pages || region->provider == provider;
}

/* A run in one of those of the pool's regions. Looks in vain into so many at most; the lock is
 * held. */
static void *take_run_in_any(struct lm_pool *pool, const struct run *run, size_t looks,
                             take_in_function *take_in) {
  size_t count = lm_load_relaxed(&pool->region_count);
  size_t number = run->region_number != NULL ? *run->region_number : 0;
  void *start = NULL;
  for (; looks > 0; number++) {
    number = lm_directory_find(pool, number, run->search_count, run->slice_count != 0);
    if (number >= count) break;
    if (!is_of_provider(pool, pool->directory[number])) continue;
    start = take_in(pool->directory[number], run);
    if (start != NULL) break;
    looks--;
  }
  if (run->region_number != NULL) *run->region_number = number < count ? (uint32_t)number : 0;
  return start;
}

/* The same from where the last such search has ended on and, where that was not the first region,
 * from there on. */
static void *take_run_in_turn(struct lm_pool *pool, struct run *run, size_t looks,
                              take_in_function *take_in, uint32_t *region_number) {
  bool turns = *region_number != 0;
  run->region_number = region_number;
  void *start = take_run_in_any(pool, run, looks, take_in);
  if (start == NULL && turns && *region_number == 0)
    start = take_run_in_any(pool, run, looks, take_in);
  run->region_number = NULL;
  return start;
}

/* A run in a new region of the pool's; the lock is held on entry and exit. */
static void *take_run_in_new(struct lm_pool *pool, const struct run *run,
                             take_in_function *take_in) {
  struct lm_region *region = lm_region_new(pool, run->page_count);
  if (region == NULL) return NULL;
  bool known = lm_directory_add(pool, region);
  void *start = known ? take_in(region, run) : NULL;
  if (start != NULL) return start;
  if (known) lm_directory_remove(pool, region); /* its pages cannot be committed */
  lm_region_end(region);
  return NULL;
}

/* A run in one of the pool's regions, or in a new one; the lock is held on entry and exit. */
static void *take_run(struct lm_pool *pool, const struct run *run, take_in_function *take_in) {
  void *start = take_run_in_any(pool, run, SIZE_MAX, take_in);
  return start != NULL ? start : take_run_in_new(pool, run, take_in);
}

/* ---- Spans ---- */

/* A free slice that begins with pages that the process has already, or LM_BITMAP_NONE. */
static size_t find_dirty_slice(struct lm_region *region) {
  size_t per_slice = lm_pages_per_slice();
  for (size_t w = 0; w < LM_BITMAP_WORDS(LM_REGION_SLICES); w++) {
    uint64_t slices = region->dirty_slices[w] & ~region->used_slices[w];
    for (; slices != 0; slices &= slices - 1) {
      size_t slice = w * 64 + (size_t)__builtin_ctzll(slices), page = slice * per_slice;
      if (lm_bitmap_find_set(region->dirty_pages, page, page + per_slice) != page + per_slice)
        return slice;
      lm_bitmap_clear(region->dirty_slices, slice, slice + 1);
    }
  }
  return LM_BITMAP_NONE;
}

/* Pages that the process has are better than fresh ones. */
static size_t find_slices(struct lm_region *region, const struct run *run) {
  size_t slice = run->slice_count == 1 ? find_dirty_slice(region) : LM_BITMAP_NONE;
  if (slice != LM_BITMAP_NONE) return slice;
  return lm_bitmap_lowest_run(region->used_slices, region->first_slice, LM_REGION_SLICES,
                              run->slice_count);
}

static void *take_slices_in(struct lm_region *region, const struct run *run) {
  size_t slice = LM_BITMAP_NONE;
  if (region->run_limit >= run->page_count) slice = find_slices(region, run);
  if (slice == LM_BITMAP_NONE) {
    if (run->slice_count == 1) lm_directory_remove_free(region);
    return NULL;
  }
  if (!lm_runs_take_bare(region, slice * lm_pages_per_slice(), run->page_count, run->zero))
    return NULL;
  region->pool->span_slice_count += run->slice_count;
  return (char *)region + (slice << LM_SLICE_SHIFT);
}

void *lm_pool_take_slices(struct lm_pool *pool, size_t slice_count, uint64_t *dirty_pages) {
  bool zero;
  struct run run = {.page_count = slice_count * lm_pages_per_slice(),
                    .search_count = slice_count * lm_pages_per_slice(),
                    .slice_count = slice_count,
                    .zero = &zero};
  lm_assert(slice_count != 0 && slice_count <= LM_SPAN_MAX_SLICES);
  lm_lock_take(&pool->lock);
  void *start = take_run(pool, &run, take_slices_in);
  if (start != NULL)
    *dirty_pages =
        lm_bitmap_word(lm_region_of(start)->dirty_pages, lm_page_of(start), run.page_count);
  if (pool->span_slice_count << LM_SLICE_SHIFT >= HUGE_MIN_BYTES) accept_huge(pool);
  lm_lock_free(&pool->lock);
  return start;
}

void lm_pool_give_slices(void *start, size_t slice_count, uint64_t dirty_pages) {
  struct lm_region *region = lm_region_of(start);
  struct lm_pool *pool = region->pool; /* the region may have gone at the end */
  size_t page = lm_page_of(start), page_count = slice_count * lm_pages_per_slice();
  lm_assert((dirty_pages & ~lm_bitmap_mask(0, 0, page_count)) == 0);
  lm_assert(lm_load_relaxed(&lm_span_record_of(start)->tag) == 0);
  lm_lock_take(&pool->lock);
  lm_assert(slice_count <= pool->span_slice_count);
  pool->span_slice_count -= slice_count;
  lm_bitmap_clear(region->dirty_pages, page, page + page_count);
  lm_bitmap_add_word(region->dirty_pages, page, page_count, dirty_pages);
  lm_runs_give(region, page, page_count);
  lm_purge_early(pool, lm_bit_count(dirty_pages));
  lm_lock_free(&pool->lock);
}

bool lm_pool_purge_unused(char *start, char *end) {
  struct lm_region *region = lm_region_of(start);
  start = (char *)lm_align_up((uintptr_t)start, lm_os.page_bytes);
  if (start >= end) return true;
  lm_assert(lm_region_of(end - 1) == region);
  if (lm_provider_purge(region->provider, start, (size_t)(end - start)) != 0) return false;
  size_t page = lm_page_of(start), count = (size_t)(end - start) >> lm_os.page_shift;
  lm_lock_take(&region->pool->lock);
  lm_bitmap_clear(region->dirty_pages, page, page + count);
  region->pool->purged_page_count += count;
  region->pool->purge_count++;
  lm_lock_free(&region->pool->lock);
  return true;
}

#if defined(__linux__)
/* Slices not in use, and without dirty pages, are committed when they are used. */
static void uncommit_unused(struct lm_region *region) {
  size_t page_count = lm_pages_per_slice();
  lm_os_put_into_cores(region, region->bytes); /* what has no access is not in them */
  for (size_t slice = region->first_slice; slice < LM_REGION_SLICES; slice++) {
    size_t page = slice * page_count;
    if (lm_bitmap_test(region->used_slices, slice)) continue;
    if (lm_bitmap_find_set(region->dirty_pages, page, page + page_count) != page + page_count)
      continue;
    if (lm_os_uncommit((char *)region + (slice << LM_SLICE_SHIFT), LM_SLICE_BYTES) == 0)
      lm_bitmap_clear(region->committed_slices, slice, slice + 1);
  }
}

void lm_pool_commit_as_used(void) {
  lm_os.overcommit = false;
  for (struct lm_pool *pool = lm_pools; pool != NULL; pool = lm_pool_next(pool)) {
    lm_lock_take(&pool->lock);
    LM_FOR_EACH_REGION(pool, region)
      if (region->provider == NULL && !region->decommits) uncommit_unused(region);
    lm_lock_free(&pool->lock);
  }
}
#endif

/* ---- Middle and large blocks ---- */

/* As much lower as the gap is long. Where so much is not free, less of a gap is of no use. */
static size_t below_gap(const struct lm_region *region, size_t first, size_t page, size_t gap) {
  if (page - first < gap) return page;
  bool is_free = lm_bitmap_find_set(region->used_pages, page - gap, page) == page;
  return is_free ? page - gap : page;
}

/* The page where a block of the region's may begin, the highest one; or LM_BITMAP_NONE. */
static size_t find_large(struct lm_region *region, const struct run *run) {
  size_t spare_count = run->search_count - run->page_count;
  if (LM_LIKELY(run->alignment_pages == 1 || spare_count != 0)) {
    size_t page = lm_runs_find_highest(region, run->search_count);
    if (LM_LIKELY(page == LM_BITMAP_NONE || spare_count == 0)) return page;
    return lm_align_down(page + spare_count, run->alignment_pages);
  }
  size_t first = region->first_slice * lm_pages_per_slice(), end = lm_pages_per_region();
  size_t page = lm_bitmap_highest_run(region->used_pages, first, end, run->page_count,
                                      run->alignment_pages);
  if (page == LM_BITMAP_NONE) lm_directory_limit_runs(region, lm_runs_longest(region));
  return page;
}

static void *take_large_in(struct lm_region *region, const struct run *run) {
  size_t page_count = run->page_count;
  if (region->run_limit < run->search_count) return NULL;
  size_t first = region->first_slice * lm_pages_per_slice(), page = find_large(region, run);
  if (page == LM_BITMAP_NONE) return NULL;
  if (run->gap_count != 0) page = below_gap(region, first, page, run->gap_count);
  if (!lm_runs_take(region, page, page_count, run->zero)) return NULL;
  void *block = lm_page_address(region, page);
  lm_assert((uintptr_t)block % (run->alignment_pages << lm_os.page_shift) == 0);
  lm_assert(lm_region_live_pages(block) == 0);
  lm_tags_write(block, LM_TAG_LARGE);
  lm_store_relaxed(&region->spans[lm_slice_of_page(page)].tag, (uint8_t)LM_TAG_LARGE);
  lm_region_set_block_pages(block, page_count);
  region->pool->large_count++;
  region->pool->large_page_count += page_count;
  return block;
}

/* A run as long as the block may be aligned or not, so that each region with one has to be looked
 * into: so many in one call, and others in the next. */
#define LOOKS_FOR_ALIGNED 32

static void *take_aligned_run(struct lm_pool *pool, struct run *run) {
  run->search_count = run->page_count + run->alignment_pages - 1;
  void *start = take_run_in_any(pool, run, SIZE_MAX, take_large_in);
  if (start != NULL) return start;
  run->search_count = run->page_count;
  start = take_run_in_turn(pool, run, LOOKS_FOR_ALIGNED, take_large_in, &pool->aligned_region);
  if (start == NULL) start = take_run_in_new(pool, run, take_large_in);
  return start != NULL ? start : take_run_in_any(pool, run, SIZE_MAX, take_large_in);
}

static void *take_large_run(struct lm_pool *pool, struct run *run) {
  lm_lock_take(&pool->lock);
  void *start = run->alignment_pages == 1 ? take_run(pool, run, take_large_in)
                                          : take_aligned_run(pool, run);
  if (pool->large_page_count << lm_os.page_shift >= HUGE_MIN_BYTES) accept_huge(pool);
  lm_lock_free(&pool->lock);
  return start;
}

void *lm_pool_take_large(struct lm_pool *pool, size_t page_count, size_t alignment, bool *zero) {
  struct run run = {.page_count = page_count,
                    .search_count = page_count,
                    .alignment_pages = lm_max(1, alignment >> lm_os.page_shift),
                    .zero = zero};
  return take_large_run(pool, &run);
}

void *lm_pool_take_growing(struct lm_pool *pool, size_t page_count, size_t gap_count) {
  bool zero;
  struct run run = {.page_count = page_count,
                    .search_count = page_count,
                    .alignment_pages = 1,
                    .gap_count = gap_count,
                    .zero = &zero};
  return take_large_run(pool, &run);
}

size_t lm_pool_dirty_pages(const void *block, size_t page_count) {
  struct lm_region *region = lm_region_of(block);
  size_t page = lm_page_of(block);
  lm_lock_take(&region->pool->lock);
  size_t count = lm_bitmap_count(region->dirty_pages, page, page + page_count);
  lm_lock_free(&region->pool->lock);
  return count;
}

void lm_pool_clear_large(void *block, size_t page_count) {
  struct lm_region *region = lm_region_of(block);
  size_t page = lm_page_of(block), end = page + page_count;
  while (page < end) {
    /* The bits of our own pages stand still, but share words with those of others. */
    lm_lock_take(&region->pool->lock);
    size_t from = lm_bitmap_find_set(region->dirty_pages, page, end);
    size_t to = lm_bitmap_find_clear(region->dirty_pages, from, end);
    lm_lock_free(&region->pool->lock);
    memset(lm_page_address(region, from), 0, (to - from) << lm_os.page_shift);
    page = to;
  }
}

bool lm_pool_is_free(const void *address) {
  struct lm_region *region = lm_region_of(address);
  lm_lock_take(&region->pool->lock);
  bool used = lm_bitmap_test(region->used_pages, lm_page_of(address));
  lm_lock_free(&region->pool->lock);
  return !used;
}

/* Pages that the program may have written to. */
static void give_written(struct lm_region *region, size_t page, size_t count) {
  lm_bitmap_set(region->dirty_pages, page, page + count);
  lm_runs_give(region, page, count);
}

bool lm_pool_give_large(void *block) {
  struct lm_region *region = lm_region_of(block);
  struct lm_pool *pool = region->pool;
  lm_lock_take(&pool->lock);
  size_t page_count = lm_region_live_pages(block);
  if (page_count != 0) {
    lm_assert(pool->large_count != 0 && page_count <= pool->large_page_count);
    lm_region_set_block_pages(block, 0);
    pool->large_count--;
    pool->large_page_count -= page_count;
    give_written(region, lm_page_of(block), page_count);
    lm_purge_early(pool, page_count);
  }
  lm_lock_free(&pool->lock);
  return page_count != 0;
}

bool lm_pool_resize_large(void *block, size_t page_count) {
  struct lm_region *region = lm_region_of(block);
  struct lm_pool *pool = region->pool;
  size_t page = lm_page_of(block);
  bool done = true, zero;
  lm_lock_take(&pool->lock);
  size_t old_count = lm_region_live_pages(block);
  lm_assert(old_count != 0 && page_count != 0 && old_count <= pool->large_page_count);
  if (page_count > old_count) {
    size_t from = page + old_count, to = page + page_count;
    done = to <= lm_pages_per_region() && lm_bitmap_find_set(region->used_pages, from, to) == to &&
           lm_runs_take(region, from, to - from, &zero);
  } else if (page_count < old_count) {
    give_written(region, page + page_count, old_count - page_count);
  }
  if (done) {
    lm_region_set_block_pages(block, page_count);
    pool->large_page_count += page_count - old_count;
  }
  lm_lock_free(&pool->lock);
  return done;
}

void lm_pool_forget_large(void *block) {
  struct lm_region *region = lm_region_of(block);
  struct lm_pool *pool = region->pool;
  size_t page = lm_page_of(block);
  lm_lock_take(&pool->lock);
  size_t page_count = lm_region_live_pages(block);
  lm_assert(page_count != 0);
  lm_assert(pool->large_count != 0 && page_count <= pool->large_page_count);
  lm_region_set_block_pages(block, 0);
  lm_bitmap_clear(region->dirty_pages, page, page + page_count);
  pool->large_count--;
  pool->large_page_count -= page_count;
  lm_runs_give(region, page, page_count);
  lm_lock_free(&pool->lock);
}
