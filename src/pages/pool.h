/* A pool: regions with one lock, and what is counted of the runs of OS pages in them.
 *
 * Centrals are spread over the pools. A run goes back to the pool that it came from, whoever frees
 * it. A first-class heap with a page provider of its own has a pool of its own, so that its memory
 * serves no other and can be released as a whole.
 *
 * (Rejected: a pool for each processor. What one has free another cannot use.) */
#ifndef LM_PAGES_POOL_H
#define LM_PAGES_POOL_H

#include "base/atomic.h"
#include "os/lock.h"
#include "pages/region.h"

#define LM_POOL_MAX 16
#define LM_CPUS_PER_POOL 4

struct lm_pool {
  /* Who makes the next region or huge block; NULL: the system. Written under the lock; read with an
   * acquire that shows what the provider is. A region remembers who made it. */
  _Atomic(const struct loam_page_provider *) provider;
  struct lm_pool *next; /* of a heap's own: the next of these; never changes */
  /* What precedes is on another line than the lock: frees of large blocks read it without. */
  LM_CACHE_ALIGNED struct lm_lock lock;
  /* Its regions, region_count of them, each at region->number (directory.h). */
  struct lm_region **directory;
  uint16_t *run_limits; /* of the regions, by number */
  uint16_t *group_run_limits; /* of LM_DIRECTORY_GROUP regions each: none of theirs is higher */
  bool *has_slice, *group_has_slice; /* the same: whether any may have a free slice */
  uint32_t directory_room;
  uint32_t aligned_region; /* where the last search for an aligned run has ended */
  _Atomic(uint32_t) region_count; /* written under the lock; read without it by lm_pool_tick */
  bool accepts_huge; /* much is in use (pool_take.c) */
  /* Sum over the regions; written and read as dirty_page_count is. */
  _Atomic(size_t) used_page_count;
  size_t span_slice_count; /* slices in spans */
  size_t large_count, large_page_count;
  uint64_t purged_page_count; /* since the start */
  uint64_t purge_count;
  int64_t credit_page_count; /* for early purges; see purge.h */
  uint64_t credit_ms;        /* when it was last added to */
  struct lm_refusals turn_refusals, early_refusals; /* of turns of the clock, of early purges */
  /* So many pages more may be purged early in this millisecond than are given, about: one call may
   * give often. */
  size_t early_count_left;
  uint64_t turned_ms; /* when the purge clock turned last */
  /* So many regions, those with the lowest numbers, have not had their turn yet; 0: no turn is
   * under way. The same for early purges, which begin again then. */
  uint32_t turning_count, early_count;
  /* Pages free and dirty. Written under the lock, read by any thread that asks whether to purge. */
  _Atomic(size_t) dirty_page_count;
  char unused[LM_CACHE_LINE_BYTES]; /* pools do not share lines */
} LM_CACHE_ALIGNED;

extern struct lm_pool lm_pools[LM_POOL_MAX]; /* the ordinary ones, of which so many are in use: */
extern unsigned lm_pool_count;
/* Threads that have a cache. Written under lm_caches_lock; read by whoever asks how much may be
 * kept, whenever. */
extern _Atomic(size_t) lm_pool_thread_count;

void lm_pool_start(void);

/* The pool of one first-class heap. Whoever calls the callbacks of its provider holds its lock or
 * the heap's; they may allocate from ordinary pools. */
LM_INLINE bool lm_pool_is_own(const struct lm_pool *pool) {
  return pool->lock.rank == LM_RANK_OWN_POOL;
}

/* All of these. Stored by lm_pool_add with a release; pairs with the acquire in lm_pool_next. */
extern _Atomic(struct lm_pool *) lm_own_pools;

/* Every pool, from lm_pools on: the ordinary ones first. In the midst of a callback only those: the
 * calling thread has locks of that heap, and its provider would be called again. */
LM_INLINE struct lm_pool *lm_pool_next(struct lm_pool *pool) {
  if (lm_pool_is_own(pool)) return pool->next;
  if (pool != &lm_pools[lm_pool_count - 1]) return pool + 1;
  return LM_THREAD(lm_in_callback) ? NULL : lm_load_acquire(&lm_own_pools);
}

/* Makes a pool, all zero, one that a first-class heap has for itself, and will for ever. One at a
 * time: lm_shared_heaps_lock is held. */
void lm_pool_add(struct lm_pool *pool);

/* Lets all regions and huge blocks from here on come from the provider, which stays where it is
 * while there are any. Regions of others serve what they have, and no new runs. */
void lm_pool_provide(struct lm_pool *pool, const struct loam_page_provider *provider);
/* The same for all ordinary pools. */
void lm_pool_provide_all(const struct loam_page_provider *provider);
/* Lets them have explicit pages, if the option says so and there is one. */
void lm_pool_begin_explicit(void);

#endif
