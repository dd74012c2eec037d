/* A pool: regions with one lock, and the runs of OS pages in them.
 *
 * Spans take whole slices from the low end of a region, middle and large blocks take pages from the
 * high end; spans prefer slices with dirty pages (the process has them already) to fresh ones.
 *
 * When free dirty pages go back to the system:
 *   1. The purge clock, turned by any thread's slow path, gives back what has been free for
 *      a half to the whole of the option purge_delay_ms: so much in one call, and the rest in the
 *      next of anybody's.
 *   2. Early, as soon as more is free than LM_POOL_KEEP_BYTES and a sixteenth of what is used: for
 *      a process that frees much and then sleeps, whose slow paths nobody enters. It is wrong if
 *      the pages are taken again soon, since that costs page faults. Each such page is counted
 *      against a credit, and without credit only the clock purges. Credit grows with time: a
 *      process pays for at most LM_POOL_CREDIT_BYTES of faults too many, and as many each
 *      LM_POOL_CREDIT_MS. In a millisecond about what is given and 2 MiB.
 *      If the option cache_bytes is a number, more than a pool's share of it is what is too much,
 *      and no credit is needed.
 *   3. The more is free, the faster the clock turns, and calls that free much turn it, too; far too
 *      much goes at once (purge.c): a process that stops calling keeps no more than that.
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
#define LM_POOL_KEEP_BYTES (512 * LM_KIB) /* over all pools */
#define LM_POOL_CREDIT_BYTES (4 * LM_MIB)
#define LM_POOL_CREDIT_MS 1000
/* So much must be in use before a pool's regions take huge pages
 * from a system that gives them to everybody: what is thinly spread would cost 2 MiB each time. */
#define LM_POOL_HUGE_MIN_BYTES (16 * LM_MIB)

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
  bool accepts_huge; /* lm_pool_accept_huge */
  /* Sum over the regions; written and read as dirty_page_count is. */
  _Atomic(size_t) used_page_count;
  size_t span_slice_count; /* slices in spans */
  size_t large_count, large_page_count;
  uint64_t purged_page_count; /* since the start */
  uint64_t purge_count;
  int64_t credit_page_count; /* for early purges; see above */
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

/* Asks for huge pages, as the option says, in regions that were made before it was read. */
void lm_pool_begin_huge(void);

/* Gives all regions of a heap's own pool back. Nobody uses anything in them. */
void lm_pool_release(struct lm_pool *pool);

/* A run of `slice_count` slices, up to LM_SPAN_MAX_SLICES. Bit i of `*dirty_pages`: OS page i may
 * have been written to; the others read as zero. NULL if out of memory. */
void *lm_pool_take_slices(struct lm_pool *pool, size_t slice_count, uint64_t *dirty_pages);

/* Gives a span's slices back; bit i of `dirty_pages`: OS page i may have been written to. The
 * caller has cleared their tags. */
void lm_pool_give_slices(void *start, size_t slice_count, uint64_t dirty_pages);

/* Gives the OS pages within [start, end), which a span has but does not use yet, back to the
 * system. False if it does not take them. */
bool lm_pool_purge_unused(char *start, char *end);

#if defined(__linux__)
/* From here on pages may be accessed only once they are used: for a process that locks all that it
 * may access. */
void lm_pool_commit_as_used(void);
#endif

/* A large block of `page_count` pages, aligned to `alignment`, a power of two. `*zero` as above;
 * if it is not, lm_pool_clear_large clears it. NULL if out of memory. */
void *lm_pool_take_large(struct lm_pool *pool, size_t page_count, size_t alignment, bool *zero);

/* The same, aligned to an OS page, with `gap_count` free pages above it if there is such a place
 * where it would stand: lm_pool_resize_large can use them until other blocks need them. */
void *lm_pool_take_growing(struct lm_pool *pool, size_t page_count, size_t gap_count);

/* How many pages of a fresh large block the process has already. */
size_t lm_pool_dirty_pages(const void *block, size_t page_count);

/* Sets the pages of a fresh large block to zero without touching those that are. */
void lm_pool_clear_large(void *block, size_t page_count);

/* Whether the page of `address`, which is in a region, is in use by nobody. */
bool lm_pool_is_free(const void *address);

/* Gives a large block back. False if no large block begins there (any longer). */
bool lm_pool_give_large(void *block);

/* Changes the length of a large block where it stands; false if that is not possible. */
bool lm_pool_resize_large(void *block, size_t page_count);

/* After the pages of a large block have been moved away: they are fresh again. */
void lm_pool_forget_large(void *block);

/* Turns the purge clock of every pool if its time has come, or goes on turning it, as far as the
 * effort does, which it takes from (provider.h). Cheap if there is nothing to do. Returns whether
 * there may be more of it. */
bool lm_pool_tick(uint64_t now_ms, size_t *effort);

/* Purges free pages of the pool now until about `keep_bytes` are left dirty in it. Returns whether
 * anything was given back. */
bool lm_pool_trim_one(struct lm_pool *pool, size_t keep_bytes);
/* The same for every pool. */
bool lm_pool_trim(size_t keep_bytes);

#endif
