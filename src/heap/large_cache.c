#include "heap/large_cache.h"

#include "heap/budget.h"
#include "heap/visit.h"
#include "os/panic.h"

/* A cached block may be longer than what is asked for by this part. */
#define LONGER_FRACTION 8
/* So much in all, of what a heap may keep of anything else. */
#define CACHED_FRACTION 8
/* A block that is taken and for which there is an entry scores one; one without costs so many. At
 * so many in all, the blocks that are freed are cached; at none, no longer. */
#define MISS_COST 3
#define SCORE_TO_CACHE 32
#define SCORE_MAX 64
/* Reading the clock costs as much as taking a block. */
#define HITS_PER_TICK 32

/* ---- Entries ---- */

static void clear_entry(struct lm_large_cache *cache, size_t index) {
  lm_assert(cache->blocks[index] == NULL || cache->page_counts[index] <= cache->page_count);
  if (cache->blocks[index] != NULL) cache->page_count -= cache->page_counts[index];
  cache->page_counts[index] = 0;
  cache->blocks[index] = NULL;
}

/* Its block is to go back. */
static void retire_entry(struct lm_large_cache *cache, size_t index) {
  if (cache->blocks[index] == NULL) clear_entry(cache, index);
  else cache->surplus |= (uint8_t)(1u << index);
}

static void drop_entry(struct lm_large_cache *cache, size_t index) {
  size_t page_count = cache->page_counts[index];
  void *block = cache->blocks[index];
  clear_entry(cache, index);
  if (block == NULL) return;
  cache->room_count += page_count;
  lm_region_set_block_pages(block, page_count);
  lm_pool_give_large(block);
}

/* Of the entries with a block, of which there are some. */
static void drop_oldest_cached(struct lm_large_cache *cache) {
  uint32_t i = cache->next;
  while (cache->blocks[i % LM_LARGE_CACHE_ENTRIES] == NULL) i++;
  drop_entry(cache, i % LM_LARGE_CACHE_ENTRIES);
}

static void set_caches(struct lm_large_cache *cache, bool caches) {
  for (size_t i = 0; i < LM_LARGE_CACHE_ENTRIES; i++) retire_entry(cache, i);
  cache->caches = caches;
}

/* The shortest that will do; LM_LARGE_CACHE_ENTRIES if there is none. */
static size_t find_fitting(const struct lm_large_cache *cache, size_t page_count,
                           size_t alignment) {
  size_t best = LM_LARGE_CACHE_ENTRIES, best_surplus = page_count / LONGER_FRACTION + 1;
  for (size_t i = 0; i < LM_LARGE_CACHE_ENTRIES; i++) {
    size_t surplus = cache->page_counts[i] - page_count; /* below 0: a very large number */
    if (LM_LIKELY(surplus >= best_surplus)) continue;
    if (((uintptr_t)cache->blocks[i] & (alignment - 1)) != 0) continue;
    best = i;
    best_surplus = surplus;
  }
  return best;
}

/* ---- Taking ---- */

static void note_hit(struct lm_large_cache *cache) {
  cache->score = lm_min(cache->score + 1, SCORE_MAX);
  if (LM_UNLIKELY(!cache->caches) && cache->score >= SCORE_TO_CACHE) set_caches(cache, true);
}

static void note_miss(struct lm_large_cache *cache) {
  cache->score -= lm_min(cache->score, MISS_COST);
  if (LM_UNLIKELY(cache->caches) && cache->score == 0) set_caches(cache, false);
}

/* The caller is going to take a block of the pool's. */
static void use_room(struct lm_large_cache *cache, size_t page_count) {
  while (cache->page_count != 0 && cache->room_count < page_count) drop_oldest_cached(cache);
  cache->room_count -= lm_min(cache->room_count, page_count);
}

static void *take_cached(struct lm_heap *heap, size_t page_count, size_t alignment) {
  struct lm_large_cache *cache = &heap->large_cache;
  size_t index = find_fitting(cache, page_count, alignment);
  void *block = NULL;
  if (LM_UNLIKELY(index == LM_LARGE_CACHE_ENTRIES)) {
    note_miss(cache);
  } else {
    block = cache->blocks[index];
    if (block != NULL) lm_region_set_block_pages(block, cache->page_counts[index]);
    clear_entry(cache, index);
    note_hit(cache);
  }
  if (LM_UNLIKELY(block == NULL)) {
    lm_heap_tick_often(heap);
    use_room(cache, page_count);
  } else if (LM_UNLIKELY(++cache->hit_count % HITS_PER_TICK == 0)) {
    lm_heap_tick(heap);
  }
  return block;
}

void *lm_large_cache_take(struct lm_heap *heap, size_t page_count, size_t alignment) {
  lm_heap_enter(heap);
  void *block = take_cached(heap, page_count, alignment);
  lm_heap_leave(heap);
  return block;
}

/* ---- Giving ---- */

/* What comes from a provider goes back to it, and what is another pool's to that. */
static bool is_cacheable(const struct lm_pool *pool, const void *block) {
  const struct lm_region *region = lm_region_of(block);
  return region->pool == pool && region->provider == NULL &&
         lm_load_relaxed(&pool->provider) == NULL;
}

/* An entry for a block of so many pages, the oldest one's. */
static size_t new_entry(struct lm_large_cache *cache, size_t page_count) {
  size_t index = cache->next++ % LM_LARGE_CACHE_ENTRIES;
  drop_entry(cache, index);
  cache->page_counts[index] = (uint32_t)page_count;
  cache->aged &= (uint8_t)~(1u << index);
  if (LM_UNLIKELY(cache->surplus != 0)) cache->surplus &= (uint8_t)~(1u << index);
  return index;
}

static bool cache(struct lm_heap *heap, void *block) {
  struct lm_large_cache *cache = &heap->large_cache;
  size_t page_count = lm_region_live_pages(block);
  if (LM_UNLIKELY(page_count == 0)) return false;
  size_t page_limit = LM_OPTION(heap_cache_bytes) / CACHED_FRACTION >> lm_os.page_shift;
  if (page_count > page_limit || !is_cacheable(heap->pool, block)) {
    cache->room_count += page_count;
    return false;
  }
  size_t index = new_entry(cache, page_count);
  if (LM_UNLIKELY(!cache->caches)) {
    cache->room_count += page_count;
    return false;
  }
  while (cache->page_count + page_count > page_limit) drop_oldest_cached(cache);
  lm_assert(cache->blocks[index] == NULL);
  lm_region_set_block_pages(block, page_count | LM_BLOCK_ON_ITS_WAY);
  cache->blocks[index] = block;
  cache->page_count += page_count;
  size_t cached_bytes = cache->page_count << lm_os.page_shift;
  if (LM_LIKELY(cached_bytes < heap->reported_bytes + LM_BUDGET_STEP_BYTES)) return true;
  lm_budget_report(heap);
  if (lm_budget_exceeded()) lm_large_cache_trim(heap);
  return true;
}

bool lm_large_cache_give(struct lm_heap *heap, void *block) {
  lm_heap_enter(heap);
  bool cached = cache(heap, block);
  lm_heap_leave(heap);
  return cached;
}

/* ---- Time ---- */

void lm_large_cache_tick(struct lm_heap *heap) {
  struct lm_large_cache *cache = &heap->large_cache;
  for (size_t i = 0; i < LM_LARGE_CACHE_ENTRIES; i++)
    if ((cache->aged >> i & 1) != 0) retire_entry(cache, i);
  cache->aged = UINT8_MAX;
  cache->score /= 2;
  if (cache->caches && cache->score == 0) set_caches(cache, false);
  cache->room_count = 0;
}

void lm_large_cache_retire(struct lm_heap *heap) {
  set_caches(&heap->large_cache, false);
  heap->large_cache.score = 0;
}

bool lm_large_cache_release(struct lm_heap *heap, size_t *effort) {
  struct lm_large_cache *cache = &heap->large_cache;
  for (size_t i = 0; i < LM_LARGE_CACHE_ENTRIES && *effort != 0; i++) {
    if ((cache->surplus >> i & 1) == 0) continue;
    cache->surplus &= (uint8_t)~(1u << i);
    lm_spend_effort(effort, cache->page_counts[i] + LM_PURGE_CALL_EFFORT);
    drop_entry(cache, i);
  }
  return cache->surplus == 0;
}

void lm_large_cache_trim(struct lm_heap *heap) {
  size_t effort = SIZE_MAX;
  lm_large_cache_retire(heap);
  lm_large_cache_release(heap, &effort);
}
