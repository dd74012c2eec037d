#include "pages/purge.h"

#include <string.h>

#include "config/options.h"
#include "os/panic.h"
#include "pages/directory.h"
#include "pages/mappings.h"
#include "pages/pressure.h"
#include "pages/region_life.h"
#include "pages/runs.h"

enum purge { PURGE_AGED, PURGE_EARLY, PURGE_ALL };

/* The end of the free pages that begin at `from`, at most `most`, as far as they are committed. */
static size_t free_end(const struct lm_region *region, size_t from, size_t most) {
  size_t end = from + lm_min(lm_pages_per_region() - from, most);
  end = lm_bitmap_find_set(region->used_pages, from, end);
  if (region->decommits) return end;
  size_t first = lm_slice_of_page(from), last = lm_slice_of_page(end - 1);
  size_t bare = lm_bitmap_find_clear(region->committed_slices, first, last + 1);
  return lm_min(end, bare * lm_pages_per_slice());
}

/* Purges free dirty pages by one call, from one to at most `most` behind it, without the lock: the
 * pages are marked as used meanwhile. The lock of a heap's own pool stays, or its regions might go.
 * Returns how many pages, also if they are refused, which are not aged any more: they are tried
 * once in a turn. 0 if none is left from `*from_page` on. The lock is held on entry and exit. */
LM_LOCKS_UNCHECKED
static size_t purge_run(struct lm_region *region, enum purge what, size_t most,
                        size_t *from_page) {
  const uint64_t *candidates = what == PURGE_AGED ? region->aged_pages : region->dirty_pages;
  size_t end = lm_pages_per_region();
  size_t from = *from_page;
  if (!lm_provider_purges(region->provider)) return 0;
  do {
    from = lm_bitmap_find_set(candidates, from, end);
    if (from == end) return 0;
    size_t used_end = lm_bitmap_find_clear(region->used_pages, from, end);
    if (used_end == from) break;
    from = used_end;
  } while (from < end);
  if (from == end) return 0;
  size_t to = lm_provider_purge_end(candidates, region->dirty_pages, from,
                                    free_end(region, from, most), region->decommits);
  size_t count = lm_bitmap_count(region->dirty_pages, from, to);
  lm_assert(from < to && count != 0);
  *from_page = to;
  lm_runs_hold(region, from, to - from);
  bool own = lm_pool_is_own(region->pool);
  if (!own) lm_lock_free(&region->pool->lock);
  size_t bytes = (to - from) << lm_os.page_shift;
  bool purged = lm_provider_purge(region->provider, lm_page_address(region, from), bytes) == 0;
  if (!own) lm_lock_take(&region->pool->lock);
  if (purged) {
    if (what == PURGE_EARLY) lm_bitmap_add(region->early_pages, region->dirty_pages, from, to);
    lm_bitmap_clear(region->dirty_pages, from, to);
    region->pool->purged_page_count += count;
    region->pool->purge_count++;
  }
  lm_runs_give(region, from, to - from);
  if (what == PURGE_AGED) lm_refusals_note(&region->pool->turn_refusals, purged);
  if (what == PURGE_EARLY) lm_refusals_note(&region->pool->early_refusals, purged);
  return count;
}

/* The longest run that is purged at once where much is asked for. */
static size_t run_max(void) { return (16 * LM_MIB) >> lm_os.page_shift; }

/* ---- The purge clock ---- */

/* Whatever is free and dirty now, and still is at the next turn, is purged then. */
static void age_pages(struct lm_region *region) {
  for (size_t w = 0; w < LM_BITMAP_WORDS(LM_REGION_MAX_PAGES); w++)
    region->aged_pages[w] = region->dirty_pages[w] & ~region->used_pages[w];
  memset(region->early_pages, 0, sizeof region->early_pages);
}

/* Whether nothing in the region is in use or, if it can be, waits to be purged. */
static bool is_empty(const struct lm_region *region) {
  return region->used_page_count == 0 &&
         (region->dirty_page_count == 0 || !lm_provider_purges(region->provider));
}

/* An empty region goes back whole, unless it is the pool's only one. Returns whether it has. */
static bool end_if_empty(struct lm_pool *pool, struct lm_region *region) {
  if (!is_empty(region) || lm_load_relaxed(&pool->region_count) == 1) return false;
  lm_directory_remove(pool, region);
  lm_assert(region->dirty_page_count <= lm_load_relaxed(&pool->dirty_page_count));
  size_t dirty_count = lm_load_relaxed(&pool->dirty_page_count) - region->dirty_page_count;
  lm_store_relaxed(&pool->dirty_page_count, dirty_count);
  lm_region_end(region);
  return true;
}

/* The region whose turn it is: what has aged is purged, up to `*left` pages, and what is free ages
 * once that is done; nothing of this while refusals last. False if it is not done, or if another
 * thread has gone on while the lock was given up. */
static bool turn_region(struct lm_region *region, size_t *left) {
  struct lm_pool *pool = region->pool;
  uint32_t turning_count = pool->turning_count;
  if (region->dirty_page_count == 0 || lm_refusals_last(&pool->turn_refusals)) return true;
  for (size_t from = 0; *left > 0;) {
    size_t count = purge_run(region, PURGE_AGED, *left, &from);
    if (pool->turning_count != turning_count) return false;
    if (count == 0) {
      age_pages(region);
      return true;
    }
    lm_spend_effort(left, count + LM_PURGE_CALL_EFFORT);
  }
  return false;
}

/* In one call: regions looked at, each of which has maps of 8 KiB, and ended, some 20 microseconds
 * each. */
#define REGIONS_PER_TURN 32
#define ENDED_PER_TURN 4

/* Whether the option cache_bytes is a number, and a pool's share of that. */
static bool option_bounds(void) { return LM_UNLIKELY(LM_OPTION(cache_bytes) != LM_CACHE_AUTO); }
static LM_COLD size_t option_page_count(void) {
  return LM_OPTION(cache_bytes) / lm_pool_count >> lm_os.page_shift;
}

/* So much may be free and dirty without hurry, or more where there are few threads, each of which
 * may take much at once; and a part of what is used. With more of it the clock turns in proportion
 * faster, so that what is free goes back the sooner, the more there is, while what is taken again
 * at once stays. */
#define CALM_BYTES (16 * LM_MIB)
#define CALM_SHARED_BYTES (512 * LM_MIB)
#define CALM_FRACTION 4

static size_t calm_page_count(const struct lm_pool *pool) {
  size_t share = CALM_SHARED_BYTES / lm_max(lm_load_relaxed(&lm_pool_thread_count), 1);
  size_t used_page_count = lm_load_relaxed(&pool->used_page_count);
  return (lm_max(share, CALM_BYTES) >> lm_os.page_shift) + used_page_count / CALM_FRACTION;
}

/* Where more than so many threads share a pool, few of them run at the same time and the others may
 * be about to sleep: its clock turns faster by the square of how many times more they are. */
#define CALM_THREADS 8
static uint64_t hurry(void) {
  uint64_t thread_count = lm_load_relaxed(&lm_pool_thread_count) / lm_pool_count;
  uint64_t hurry = thread_count * thread_count / (CALM_THREADS * CALM_THREADS);
  return hurry == 0 ? 1 : hurry;
}

/* From one turn to the next. */
static uint64_t turn_ms(const struct lm_pool *pool) {
  size_t calm_count = calm_page_count(pool);
  size_t dirty_count = lm_load_relaxed(&pool->dirty_page_count);
  uint64_t ms = LM_OPTION(purge_delay_ms) / 2;
  if (lm_pressed(LM_PRESSURE_SOME)) return 0;
  if (dirty_count <= calm_count || option_bounds()) return ms;
  return ms * calm_count / dirty_count / hurry();
}

/* The lock is held, and given up meanwhile. Returns whether the turn is not over. */
static bool turn_clock(struct lm_pool *pool, uint64_t now_ms, size_t *left) {
  if (pool->turning_count == 0 && now_ms >= pool->turned_ms + turn_ms(pool)) {
    pool->turned_ms = now_ms;
    pool->turning_count = lm_load_relaxed(&pool->region_count);
  }
  lm_assert(pool->turning_count <= lm_load_relaxed(&pool->region_count));
  size_t ended_count = 0;
  for (int i = 0; i < REGIONS_PER_TURN && ended_count < ENDED_PER_TURN; i++) {
    struct lm_region *region = lm_directory_below(pool, pool->turning_count);
    if (pool->turning_count == 0 || !turn_region(region, left)) break;
    pool->turning_count--;
    ended_count += end_if_empty(pool, region);
  }
  if (pool->turning_count == 0) lm_refusals_end_round(&pool->turn_refusals);
  return pool->turning_count != 0;
}

/* A pool of one region ends none, and purges nothing if nothing is dirty. */
static bool has_work(const struct lm_pool *pool) {
  return lm_load_relaxed(&pool->dirty_page_count) != 0 || lm_load_relaxed(&pool->region_count) > 1;
}

bool lm_pool_tick(uint64_t now_ms, size_t *effort) {
  if (LM_OPTION(purge_delay_ms) == 0) return false;
  bool more = false;
  for (struct lm_pool *pool = lm_pools; pool != NULL && *effort > 0; pool = lm_pool_next(pool))
    if (has_work(pool)) {
      lm_lock_take(&pool->lock);
      more |= turn_clock(pool, now_ms, effort);
      lm_lock_free(&pool->lock);
    }
  more |= lm_mappings_tick(now_ms, effort);
  return more || *effort == 0;
}

/* ---- Early purges ---- */

/* Adds the credit that has grown since the last time. */
static void grow_credit(struct lm_pool *pool) {
  uint64_t now_ms = lm_os_clock_ms();
  int64_t limit = (int64_t)(LM_POOL_CREDIT_BYTES >> lm_os.page_shift);
  uint64_t elapsed_ms = lm_min(now_ms - pool->credit_ms, LM_POOL_CREDIT_MS);
  if (pool->credit_ms == 0) elapsed_ms = LM_POOL_CREDIT_MS;
  if (elapsed_ms != 0) pool->early_count_left = LM_PURGED_BY_CALL_BYTES >> lm_os.page_shift;
  pool->credit_page_count += limit * (int64_t)elapsed_ms / LM_POOL_CREDIT_MS;
  if (pool->credit_page_count > limit) pool->credit_page_count = limit;
  pool->credit_ms = now_ms;
}

/* So many dirty pages are kept. */
static size_t kept_page_count(const struct lm_pool *pool) {
  if (lm_pressed(LM_PRESSURE_SOME)) return 0;
  if (option_bounds()) return option_page_count();
  return ((LM_POOL_KEEP_BYTES / lm_pool_count) >> lm_os.page_shift) +
         lm_load_relaxed(&pool->used_page_count) / 16;
}

static bool has_credit(const struct lm_pool *pool) {
  return pool->credit_page_count > 0 || lm_pressed(LM_PRESSURE_SOME) || option_bounds();
}

/* Purges early in the region, until `keep` dirty pages are left in the pool, or without credit
 * `most`, up to `*left` pages. False if there is more to purge in it. */
static bool purge_early_in(struct lm_region *region, size_t keep, size_t most, size_t *left) {
  const struct lm_pool *pool = region->pool;
  for (size_t from = 0, count; *left > 0;) {
    size_t limit = has_credit(pool) ? keep : most;
    if (lm_load_relaxed(&pool->dirty_page_count) <= limit) return false;
    if ((count = purge_run(region, PURGE_EARLY, *left, &from)) == 0) return true;
    lm_spend_effort(left, count + LM_PURGE_CALL_EFFORT);
  }
  return false;
}

/* More than so many times what is calm goes at once, credit or not: all threads may be about to
 * sleep. */
#define DIRTY_MAX_CALM 2

/* What it takes to purge as many pages as are given, in whatever runs. */
#define GIVEN_EFFORT 3

void lm_purge_early(struct lm_pool *pool, size_t given_count) {
  size_t keep = kept_page_count(pool);
  if (lm_load_relaxed(&pool->dirty_page_count) <= keep || LM_OPTION(purge_delay_ms) == 0) return;
  if (lm_refusals_last(&pool->early_refusals)) return;
  size_t calm = calm_page_count(pool);
  grow_credit(pool);
  size_t left = pool->early_count_left == 0 ? given_count * GIVEN_EFFORT
                                            : lm_max(given_count, lm_purge_effort());
  uint64_t purged_before = pool->purged_page_count;
  size_t visits = lm_min(lm_load_relaxed(&pool->region_count), REGIONS_PER_TURN);
  for (; visits > 0; visits--) {
    struct lm_region *region = lm_directory_below(pool, pool->early_count);
    if (region == NULL) region = lm_directory_below(pool, SIZE_MAX);
    if (!purge_early_in(region, keep / 2, DIRTY_MAX_CALM * calm, &left)) break;
    pool->early_count = region->number;
  }
  lm_refusals_end_round(&pool->early_refusals);
  if (lm_load_relaxed(&pool->dirty_page_count) > calm && left > 0)
    turn_clock(pool, pool->credit_ms, &left);
  size_t purged_count = (size_t)(pool->purged_page_count - purged_before);
  size_t beyond_count = lm_max(purged_count, given_count) - given_count;
  pool->early_count_left -= lm_min(pool->early_count_left, beyond_count);
}

bool lm_pool_trim_one(struct lm_pool *pool, size_t keep_bytes) {
  size_t keep_pages = keep_bytes >> lm_os.page_shift;
  lm_lock_take(&pool->lock);
  uint64_t count_before = pool->purge_count;
  bool any = false;
  for (size_t number = SIZE_MAX;;) {
    struct lm_region *region = lm_directory_below(pool, number);
    if (region == NULL) break;
    size_t from = 0;
    while (lm_load_relaxed(&pool->dirty_page_count) > keep_pages &&
           purge_run(region, PURGE_ALL, run_max(), &from) != 0) {}
    number = region->number;
    any |= end_if_empty(pool, region);
  }
  any |= pool->purge_count != count_before;
  lm_lock_free(&pool->lock);
  return any;
}

bool lm_pool_trim(size_t keep_bytes) {
  bool any = false;
  for (struct lm_pool *pool = lm_pools; pool != NULL; pool = lm_pool_next(pool))
    any |= lm_pool_trim_one(pool, keep_bytes);
  return lm_mappings_trim() || any;
}
