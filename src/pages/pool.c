#include "pages/pool.h"

#include "config/options.h"
#include "os/panic.h"
#include "pages/chunk.h"
#include "pages/directory.h"
#include "pages/explicit.h"
#include "pages/purge.h"
#include "pages/runs.h"

#include <string.h>

struct lm_pool lm_pools[LM_POOL_MAX];
unsigned lm_pool_count = 1;
LM_CACHE_ALIGNED _Atomic(size_t) lm_pool_thread_count; /* away from what is written often */
_Atomic(struct lm_pool *) lm_own_pools;

void lm_pool_start(void) {
  size_t cpus = lm_os.cpu_count;
  if (cpus > LM_CPUS_PER_POOL) cpus = lm_min(cpus, lm_os_find_group_cpus());
  size_t count = (cpus + LM_CPUS_PER_POOL - 1) / LM_CPUS_PER_POOL;
  lm_pool_count = (unsigned)lm_min(count, LM_POOL_MAX);
  for (size_t i = 0; i < LM_POOL_MAX; i++) lm_pools[i].lock.rank = LM_RANK_POOL;
}

void lm_pool_add(struct lm_pool *pool) {
  pool->lock.rank = LM_RANK_OWN_POOL;
  pool->next = lm_load_relaxed(&lm_own_pools);
  lm_store_release(&lm_own_pools, pool);
}

void lm_pool_provide(struct lm_pool *pool, const struct loam_page_provider *provider) {
  lm_lock_take(&pool->lock);
  lm_store_release(&pool->provider, provider);
  lm_lock_free(&pool->lock);
}

void lm_pool_begin_huge(void) {
  if (LM_OPTION(huge_pages) == LM_HUGE_PAGES_SYSTEM) return;
  for (struct lm_pool *pool = lm_pools; pool != NULL; pool = lm_pool_next(pool)) {
    lm_lock_take(&pool->lock);
    LM_FOR_EACH_REGION(pool, region)
      lm_provider_begin_huge(region->provider, region, region->bytes, pool->accepts_huge);
    lm_lock_free(&pool->lock);
  }
}

/* The lock is held. */
static void accept_huge(struct lm_pool *pool) {
  if (pool->accepts_huge) return;
  pool->accepts_huge = true;
  LM_FOR_EACH_REGION(pool, region)
    lm_provider_accept_huge(region->provider, region, region->bytes);
}

void lm_pool_accept_huge(struct lm_pool *pool) {
  lm_lock_take(&pool->lock);
  accept_huge(pool);
  lm_lock_free(&pool->lock);
}

void lm_pool_release(struct lm_pool *pool) {
  lm_lock_take(&pool->lock);
  for (size_t number = lm_load_relaxed(&pool->region_count); number-- > 0;)
    lm_region_end(pool->directory[number]);
  lm_directory_clear(pool);
  /* In the child of a fork there may be blocks that somebody was about to free. */
  pool->used_page_count = pool->span_slice_count = pool->chunk_count = 0;
  pool->large_count = pool->large_page_count = 0;
  lm_store_relaxed(&pool->dirty_page_count, 0);
  lm_lock_free(&pool->lock);
}

/* ---- Spans ---- */

/* What is wanted of a region. */
struct run {
  size_t page_count;
  size_t search_count;     /* so long a free run is looked for: as long, or, so that there is an
                            * aligned one in any case, longer */
  size_t alignment_pages;  /* large blocks */
  size_t gap_count;        /* large blocks: pages to leave above */
  size_t slice_count;      /* spans: page_count in slices */
  uint32_t owner;          /* spans: the tag of the heap */
  bool shared;             /* spans: may stand in a group of another heap's */
  struct lm_region *own_region; /* spans: that has one of the heap's, or NULL */
  uint32_t *region_number; /* where a search begins, and then where it has ended; or NULL */
  bool *zero;
};

/* A free slice of the group with pages that the process has already, or LM_BITMAP_NONE. */
static size_t find_dirty_in_group(const struct lm_region *region, size_t group) {
  size_t from = group * LM_GROUP_SLICES, to = from + LM_GROUP_SLICES;
  size_t per_slice = lm_pages_per_slice();
  for (size_t slice = from; slice < to; slice++) {
    slice = lm_bitmap_find_clear(region->used_slices, slice, to);
    if (slice == to) break;
    size_t page = slice * per_slice, end = page + per_slice;
    if (lm_bitmap_find_set(region->dirty_pages, page, end) != end) return slice;
  }
  return LM_BITMAP_NONE;
}

#define GROUPS_PER_WORD (64 / LM_GROUP_SLICES)

static bool is_full(const struct lm_region *region, size_t group) {
  size_t slice = group * LM_GROUP_SLICES;
  uint64_t all = ((uint64_t)1 << LM_GROUP_SLICES) - 1;
  return ((region->used_slices[slice / 64] >> slice % 64) & all) == all;
}

/* Whose spans are in a group, the best first: heaps should not write to each other's lines of the
 * table of tags. */
enum group_rank { OWN, NOBODYS, OTHERS, NO_GROUP };

static enum group_rank rank_of(const struct lm_region *region, size_t group, uint32_t owner) {
  uint32_t group_owner = region->group_owners[group];
  return group_owner == owner ? OWN : group_owner == 0 ? NOBODYS : OTHERS;
}

/* The slice with dirty pages to begin a span of one at, or LM_BITMAP_NONE. */
static size_t find_dirty_slice(struct lm_region *region, const struct run *run) {
  const struct lm_pool *pool = region->pool;
  /* What is free in others' groups is taken if there is much of it, or nothing else. */
  bool much_dirty = lm_load_relaxed(&pool->dirty_page_count) > lm_runs_used_pages(pool) / 16;
  enum group_rank best = run->shared || much_dirty ? NO_GROUP : OTHERS;
  size_t found = LM_BITMAP_NONE;
  for (uint64_t groups = region->dirty_groups; groups != 0 && best != OWN; groups &= groups - 1) {
    size_t group = (size_t)__builtin_ctzll(groups);
    enum group_rank rank = rank_of(region, group, run->owner);
    if (rank >= best) continue;
    size_t slice = find_dirty_in_group(region, group);
    if (slice == LM_BITMAP_NONE) {
      region->dirty_groups &= ~((uint64_t)1 << group);
      continue;
    }
    best = rank;
    found = slice;
  }
  return found;
}

/* The same for any slices. */
static size_t find_slices(const struct lm_region *region, const struct run *run) {
  enum group_rank best = run->shared ? NO_GROUP : OTHERS;
  size_t found = LM_BITMAP_NONE;
  for (size_t group = 0; group < LM_REGION_GROUPS && best != OWN; group++) {
    if (region->used_slices[group / GROUPS_PER_WORD] == ~(uint64_t)0) group |= GROUPS_PER_WORD - 1;
    if (is_full(region, group)) continue;
    if (group > region->group_limit && best <= NOBODYS) break;
    enum group_rank rank = rank_of(region, group, run->owner);
    if (rank >= best) continue;
    size_t from = group * LM_GROUP_SLICES, to = from + LM_GROUP_SLICES;
    size_t slice = lm_bitmap_lowest_run(region->used_slices, from, to, run->slice_count);
    if (slice == LM_BITMAP_NONE) continue;
    best = rank;
    found = slice;
  }
  return found;
}

/* Pages that the process has are better than fresh ones, whoever had them. */
static size_t find_best(struct lm_region *region, const struct run *run) {
  size_t slice = run->slice_count == 1 ? find_dirty_slice(region, run) : LM_BITMAP_NONE;
  return slice != LM_BITMAP_NONE ? slice : find_slices(region, run);
}

static void *take_slices_in(struct lm_region *region, const struct run *run) {
  size_t page_count = run->slice_count * lm_pages_per_slice();
  size_t room = (region->bytes >> lm_os.page_shift) - region->used_page_count -
                region->first_slice * lm_pages_per_slice();
  size_t slice = LM_BITMAP_NONE;
  if (region->run_limit >= page_count && room >= page_count) slice = find_best(region, run);
  if (slice == LM_BITMAP_NONE) {
    unsigned kinds = run->shared || room < page_count ? LM_FREE_ANY : LM_FREE_GROUP;
    if (run->slice_count == 1) lm_directory_remove_free(region, kinds);
    return NULL;
  }
  if (!lm_runs_take_bare(region, slice * lm_pages_per_slice(), page_count, run->zero)) return NULL;
  size_t group = slice / LM_GROUP_SLICES;
  region->group_owners[group] = run->owner;
  region->group_limit = (uint32_t)lm_max(region->group_limit, group + 1);
  region->pool->span_slice_count += run->slice_count;
  return (char *)region + (slice << LM_SLICE_SHIFT);
}

typedef void *take_in_function(struct lm_region *region, const struct run *run);

/* Whether the pool's provider has made the region, which may be of explicit pages or of ordinary
 * ones. */
static bool is_of_provider(const struct lm_pool *pool, const struct lm_region *region) {
  const struct loam_page_provider *provider = lm_load_relaxed(&pool->provider);
  return provider == NULL || provider == &lm_explicit_pages || region->provider == provider;
}

/* A run in one of those of the pool's regions. Looks in vain into so many at most; the lock is
 * held. */
static void *take_run_in_any(struct lm_pool *pool, const struct run *run, unsigned kind,
                             size_t looks, take_in_function *take_in) {
  size_t count = lm_load_relaxed(&pool->region_count);
  size_t number = run->region_number != NULL ? *run->region_number : 0;
  void *start = NULL;
  for (; looks > 0; number++) {
    number = lm_directory_find(pool, number, run->search_count, kind);
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
static void *take_run_in_turn(struct lm_pool *pool, struct run *run, unsigned kind, size_t looks,
                              take_in_function *take_in, uint32_t *region_number) {
  bool turns = *region_number != 0;
  run->region_number = region_number;
  void *start = take_run_in_any(pool, run, kind, looks, take_in);
  if (start == NULL && turns && *region_number == 0)
    start = take_run_in_any(pool, run, kind, looks, take_in);
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
static void *take_run(struct lm_pool *pool, const struct run *run, unsigned kind,
                      take_in_function *take_in) {
  void *start = take_run_in_any(pool, run, kind, SIZE_MAX, take_in);
  return start != NULL ? start : take_run_in_new(pool, run, take_in);
}

/* A heap looks in vain into regions whose free slices are in groups of other heaps, again and
 * again: into so many, then into its own, then, from where that has ended the last time on, into
 * more of those with a group of nobody's. Each of these looks in vain is the last one, but for
 * several slices. */
#define LOOKS_FOR_OWN 8
#define LOOKS_FOR_NOBODYS 64

static void *take_unshared(struct lm_pool *pool, struct run *run) {
  void *start = take_run_in_any(pool, run, LM_FREE_SLICE, LOOKS_FOR_OWN, take_slices_in);
  struct lm_region *own = run->own_region;
  if (start == NULL && own != NULL && own->pool == pool && is_of_provider(pool, own))
    start = take_slices_in(own, run);
  if (start != NULL) return start;
  return take_run_in_turn(pool, run, LM_FREE_GROUP, LOOKS_FOR_NOBODYS, take_slices_in,
                          &pool->nobodys_region);
}

/* The same for spans. */
static void *take_run_of_slices(struct lm_pool *pool, struct run *run) {
  void *start = take_unshared(pool, run);
  if (start != NULL) return start;
  /* Other heaps' groups rather than a new region, while they have much room. */
  size_t slice_count = lm_load_relaxed(&pool->region_count) * LM_REGION_SLICES;
  bool shares = pool->span_slice_count < slice_count / 2;
  run->shared = true;
  if (shares) start = take_run_in_any(pool, run, LM_FREE_SLICE, SIZE_MAX, take_slices_in);
  if (start != NULL) return start;
  start = take_run_in_new(pool, run, take_slices_in);
  if (start != NULL) pool->nobodys_region = lm_region_of(start)->number;
  if (start != NULL || shares) return start;
  return take_run_in_any(pool, run, LM_FREE_SLICE, SIZE_MAX, take_slices_in);
}

void *lm_pool_take_slices(struct lm_pool *pool, size_t slice_count, uint32_t owner,
                          struct lm_region *own_region, uint64_t *dirty_pages) {
  bool zero;
  struct run run = {.page_count = slice_count * lm_pages_per_slice(),
                    .search_count = slice_count * lm_pages_per_slice(),
                    .slice_count = slice_count,
                    .owner = owner,
                    .own_region = own_region,
                    .zero = &zero};
  lm_lock_take(&pool->lock);
  void *start = take_run_of_slices(pool, &run);
  if (start != NULL) {
    size_t page_count = slice_count * lm_pages_per_slice();
    *dirty_pages =
        lm_bitmap_word(lm_region_of(start)->dirty_pages, lm_page_of(start), page_count);
  }
  lm_lock_free(&pool->lock);
  return start;
}

/* Forgets the owner of the slice's group if no span is in it any more. */
static void release_group(struct lm_region *region, size_t slice) {
  size_t group = slice / LM_GROUP_SLICES, from = group * LM_GROUP_SLICES;
  size_t to = from + LM_GROUP_SLICES;
  from = lm_max(from, lm_min(region->first_slice, to));
  if (lm_bitmap_find_set(region->used_slices, from, to) == to) region->group_owners[group] = 0;
}

void lm_pool_give_slices(void *start, size_t slice_count, size_t touched_bytes,
                         uint64_t dirty_pages) {
  struct lm_region *region = lm_region_of(start);
  struct lm_pool *pool = region->pool; /* the region may have gone at the end */
  size_t touched = lm_align_up(touched_bytes, lm_os.page_bytes) >> lm_os.page_shift;
  lm_lock_take(&pool->lock);
  lm_assert(slice_count <= pool->span_slice_count);
  pool->span_slice_count -= slice_count;
  size_t page = lm_page_of(start), page_count = slice_count * lm_pages_per_slice();
  lm_bitmap_add_word(region->dirty_pages, page, page_count, dirty_pages);
  lm_runs_give(region, page, page_count, touched);
  release_group(region, lm_region_offset(start) >> LM_SLICE_SHIFT);
  lm_purge_early(pool, touched);
  lm_lock_free(&pool->lock);
}

bool lm_pool_purge_unused(char *start, char *end) {
  struct lm_region *region = lm_region_of(start);
  start = (char *)lm_align_up((uintptr_t)start, lm_os.page_bytes);
  if (start >= end) return true;
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

/* ---- Chunks ---- */

static void *take_chunk_in(struct lm_region *region, const struct run *run) {
  if (region->run_limit < run->page_count) return NULL;
  for (size_t i = 0; i < LM_REGION_CHUNKS; i++) {
    size_t from = i * LM_CHUNK_SLICES, to = from + LM_CHUNK_SLICES;
    if (lm_bitmap_find_set(region->used_slices, from, to) != to) continue;
    if (!lm_runs_take_bare(region, i * run->page_count, run->page_count, run->zero)) return NULL;
    region->group_limit = (uint32_t)lm_max(region->group_limit, to / LM_GROUP_SLICES);
    region->pool->chunk_count++;
    return (char *)region + (i << LM_CHUNK_SHIFT);
  }
  lm_directory_remove_free(region, LM_FREE_CHUNK);
  return NULL;
}

/* Copies the bits of `count` pages. A chunk's are multiples of 32, for pages of up to 64 KiB. */
static void copy_bits(uint64_t *to, size_t to_bit, const uint64_t *from, size_t from_bit,
                      size_t count) {
  for (size_t i = 0; i < count; i += 32) {
    uint64_t bits = (uint32_t)(from[(from_bit + i) / 64] >> (from_bit + i) % 64);
    uint64_t *word = &to[(to_bit + i) / 64];
    size_t shift = (to_bit + i) % 64;
    *word = (*word & ~((uint64_t)UINT32_MAX << shift)) | bits << shift;
  }
}

void *lm_pool_take_chunk(struct lm_pool *pool, size_t *regretted) {
  bool zero;
  size_t page_count = lm_chunk_pages();
  struct run run = {.page_count = page_count, .search_count = page_count, .zero = &zero};
  lm_lock_take(&pool->lock);
  int64_t credit_before = pool->credit_page_count;
  void *start = take_run(pool, &run, LM_FREE_CHUNK, take_chunk_in);
  *regretted = (size_t)(credit_before - pool->credit_page_count);
  if (start != NULL) {
    struct lm_chunk *chunk = lm_chunk_of(start);
    memset(chunk, 0, sizeof *chunk);
    lm_bitmap_set(chunk->used_pages, page_count, LM_CHUNK_MAX_PAGES);
    const struct lm_region *region = lm_region_of(start);
    copy_bits(chunk->dirty_pages, 0, region->dirty_pages, lm_page_of(start), page_count);
    size_t dirty_count = lm_bitmap_count(chunk->dirty_pages, 0, page_count);
    lm_store_relaxed(&chunk->dirty_count, (uint32_t)dirty_count);
    chunk->run_limit = (uint16_t)lm_min(page_count, LM_CHUNK_RUN_MAX);
    chunk->run_limits = chunk->run_limit;
  }
  lm_lock_free(&pool->lock);
  return start;
}

void lm_pool_give_chunk(void *start) {
  struct lm_region *region = lm_region_of(start);
  struct lm_pool *pool = region->pool; /* the region may have gone at the end */
  size_t page_count = lm_chunk_pages(), page = lm_page_of(start);
  lm_lock_take(&pool->lock);
  lm_assert(pool->chunk_count != 0 && lm_load_relaxed(&lm_chunk_of(start)->used_count) == 0);
  pool->chunk_count--;
  copy_bits(region->dirty_pages, page, lm_chunk_of(start)->dirty_pages, 0, page_count);
  copy_bits(region->early_pages, page, lm_chunk_of(start)->early_pages, 0, page_count);
  lm_store_relaxed(&lm_chunk_of(start)->dirty_count, 0);
  lm_runs_give(region, page, page_count, 0);
  lm_purge_early(pool, page_count);
  lm_lock_free(&pool->lock);
}

/* ---- Large blocks ---- */

/* As much lower as the gap is long. Where so much is not free, less of a gap is of no use. */
static size_t below_gap(const struct lm_region *region, size_t first, size_t page, size_t gap) {
  if (page - first < gap) return page;
  bool is_free = lm_bitmap_find_set(region->used_pages, page - gap, page) == page;
  return is_free ? page - gap : page;
}

/* The page where a block of the region's may begin, the highest one; or LM_BITMAP_NONE. */
static size_t find_large(struct lm_region *region, const struct run *run) {
  size_t first = region->first_slice * lm_pages_per_slice(), count = run->search_count;
  size_t spare_count = count - run->page_count;
  size_t alignment = spare_count == 0 ? run->alignment_pages : 1;
  size_t end = region->search_end[lm_runs_search_index(count)];
  size_t page = lm_bitmap_highest_run(region->used_pages, first, end, count, alignment);
  bool none = page == LM_BITMAP_NONE;
  if (LM_LIKELY(alignment == 1)) lm_runs_narrow_search(region, count, none ? 0 : page + count);
  else if (none) lm_directory_limit_runs(region, lm_runs_longest(region));
  if (LM_LIKELY(none || spare_count == 0)) return page;
  return lm_align_down(page + spare_count, run->alignment_pages);
}

static void *take_large_in(struct lm_region *region, const struct run *run) {
  size_t page_count = run->page_count;
  if (region->run_limit < run->search_count) return NULL;
  size_t first = region->first_slice * lm_pages_per_slice(), page = find_large(region, run);
  if (page == LM_BITMAP_NONE) return NULL;
  if (run->gap_count != 0) page = below_gap(region, first, page, run->gap_count);
  if (!lm_runs_take(region, page, page_count, run->zero)) return NULL;
  void *block = lm_page_address(region, page);
  lm_tags_write(block, LM_TAG_LARGE);
  lm_store_relaxed(&region->spans[lm_slice_of_page(page)].tag, LM_TAG_LARGE);
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
  void *start = take_run_in_any(pool, run, 0, SIZE_MAX, take_large_in);
  if (start != NULL) return start;
  run->search_count = run->page_count;
  start = take_run_in_turn(pool, run, 0, LOOKS_FOR_ALIGNED, take_large_in, &pool->aligned_region);
  if (start == NULL) start = take_run_in_new(pool, run, take_large_in);
  return start != NULL ? start : take_run_in_any(pool, run, 0, SIZE_MAX, take_large_in);
}

static void *take_large_run(struct lm_pool *pool, struct run *run) {
  lm_lock_take(&pool->lock);
  void *start = run->alignment_pages == 1 ? take_run(pool, run, 0, take_large_in)
                                          : take_aligned_run(pool, run);
  if (pool->large_page_count << lm_os.page_shift >= LM_POOL_HUGE_MIN_BYTES) accept_huge(pool);
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
    lm_runs_give(region, lm_page_of(block), page_count, page_count);
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
  if (page_count > old_count) {
    size_t from = page + old_count, to = page + page_count;
    done = to <= lm_pages_per_region() && lm_bitmap_find_set(region->used_pages, from, to) == to &&
           lm_runs_take(region, from, to - from, &zero);
  } else if (page_count < old_count) {
    lm_runs_give(region, page + page_count, old_count - page_count, old_count - page_count);
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
  lm_region_set_block_pages(block, 0);
  lm_bitmap_clear(region->dirty_pages, page, page + page_count);
  pool->large_count--;
  pool->large_page_count -= page_count;
  lm_runs_give(region, page, page_count, 0);
  lm_lock_free(&pool->lock);
}
