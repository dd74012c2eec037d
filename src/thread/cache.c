#include "thread/cache.h"

#include <string.h>

#include "central/depot.h"
#include "config/options.h"
#include "os/misuse.h"
#include "os/os.h"
#include "os/panic.h"
#include "pages/meta.h"
#include "pages/pressure.h"
#include "thread/inspect.h"
#include "thread/tick.h"

struct lm_cache lm_empty_cache = {
    .lists = {[0 ... LM_TAG_LIMIT - 1] = LM_NO_BLOCK},
    .behind = {[0 ... LM_BIN_COUNT - 1] = LM_NO_BLOCK}};
LM_THREAD_LOCAL struct lm_cache *lm_this_cache = &lm_empty_cache;
LM_THREAD_LOCAL struct lm_cache *lm_malloc_cache = &lm_empty_cache;
struct lm_lock lm_caches_lock = LM_LOCK_INIT(LM_RANK_CACHES);
size_t lm_cache_made_count;
_Atomic(struct lm_cache *) lm_caches_made;
static struct lm_cache *idle_caches LM_GUARDED_BY(lm_caches_lock);

/* ---- How much lists may have ---- */

/* A class begins with lists of about so much, or of so many blocks. */
#define FIRST_LIST_BYTES (2 * LM_KIB)
#define FIRST_LIST_BLOCKS 4

static uint16_t first_cap(size_t class_index) {
  size_t count = lm_max(FIRST_LIST_BYTES / lm_sizeclass_bytes(class_index), FIRST_LIST_BLOCKS);
  return (uint16_t)lm_min(count, lm_list_blocks[class_index]);
}

/* The thread's share of what all caches may keep. */
static size_t share_bytes(void) {
  size_t thread_count = lm_max(lm_load_relaxed(&lm_pool_thread_count), 1);
  return LM_OPTION(heap_cache_bytes) / thread_count;
}

static void set_cap(struct lm_cache *cache, size_t class_index, size_t cap) {
  size_t list_bytes = 2 * lm_sizeclass_bytes(class_index);
  lm_assert(cap <= lm_list_blocks[class_index]);
  lm_assert(cache->caps[class_index] * list_bytes <= cache->granted_bytes);
  cache->granted_bytes += (cap - cache->caps[class_index]) * list_bytes;
  cache->caps[class_index] = (uint16_t)cap;
}

/* A central has been asked for blocks of the class, or to take some: lists may be twice as long the
 * next time, if the share allows; where it has become smaller they are short again. */
static void learn_cap(struct lm_cache *cache, size_t class_index) {
  size_t cap = cache->caps[class_index], bytes = lm_sizeclass_bytes(class_index);
  size_t share = share_bytes();
  if (cap == 0 || cache->granted_bytes > share) {
    set_cap(cache, class_index, first_cap(class_index));
    return;
  }
  size_t more = lm_min(2 * cap, lm_list_blocks[class_index]);
  if (cache->granted_bytes + 2 * (more - cap) * bytes <= share) set_cap(cache, class_index, more);
}

/* ---- Memory that is freed in bulk ---- */

/* Lists that nobody wants are a sign of it. */
#define BULK_BYTES (128 * LM_KIB)
/* So many blocks of a class all threads keep together while they free in bulk: each block may be
 * the last one that keeps a page. */
#define BULK_BLOCKS 64
#define BULK_LIST_BLOCKS 32

static size_t bulk_cap(const struct lm_cache *cache, size_t class_index) {
  size_t thread_count = lm_max(lm_load_relaxed(&lm_pool_thread_count), 1);
  size_t blocks = lm_min(BULK_BLOCKS / thread_count, BULK_LIST_BLOCKS);
  return lm_max(lm_min(blocks, cache->caps[class_index]), 1);
}

/* Malloc asks a central, or others do for what is freed here. */
static void end_bulk(struct lm_cache *cache) {
  cache->unwanted_bytes = 0;
  cache->in_bulk = false;
}

/* The lists of the next class, which leave the cache. */
struct leaving {
  size_t class_index;
  struct lm_block *lists[2]; /* or LM_NO_BLOCK */
};

static struct leaving take_next_class(struct lm_cache *cache) {
  size_t class_index = cache->next_class = (cache->next_class + 1) % LM_BIN_COUNT;
  struct leaving leaving = {class_index, {cache->lists[class_index], cache->behind[class_index]}};
  cache->lists[class_index] = cache->behind[class_index] = LM_NO_BLOCK;
  if (leaving.lists[0] != LM_NO_BLOCK) *lm_cache_left(cache, class_index) = 0;
  return leaving;
}

/* They go home, and one of the depot's. */
static void send_next_class(struct lm_cache *cache) {
  struct leaving leaving = take_next_class(cache);
  size_t effort = 1;
  for (size_t i = 0; i < 2; i++)
    if (leaving.lists[i] != LM_NO_BLOCK)
      lm_depot_put_back(cache->central, leaving.class_index, leaving.lists[i]);
  if (leaving.class_index != 0)
    lm_depot_age(cache->central, leaving.class_index, true, &effort);
}

static void begin_bulk(struct lm_cache *cache) {
  cache->in_bulk = true;
  memset(cache->frees_left, 0, sizeof cache->frees_left);
  memset(cache->middle_left, 0, sizeof cache->middle_left);
}

/* ---- Refill ---- */

/* Frees that are all looked at take the slow path: lists take none. */
static void set_left(struct lm_cache *cache, size_t class_index, size_t count) {
  lm_assert(count <= lm_list_blocks[class_index]);
  bool looks = cache->close_looks != 0 || LM_OPTION(fill) == LM_FILL_JUNK;
  *lm_cache_left(cache, class_index) = LM_UNLIKELY(looks) ? 0 : (int16_t)count;
}

/* A list becomes the one that malloc pops from. How many blocks it has is not known, but that they
 * are no more than its class's lists may have: frees ask again. */
static void *begin_list(struct lm_cache *cache, size_t class_index, struct lm_block *first) {
  if (LM_UNLIKELY(!lm_is_block(first))) lm_misuse_broken_link(lm_sizeclass_bytes(class_index));
  lm_assert(cache->lists[class_index] == LM_NO_BLOCK);
  *lm_cache_left(cache, class_index) = 0;
  cache->lists[class_index] = lm_block_next(first);
  return first;
}

static void *take_behind(struct lm_cache *cache, size_t class_index) {
  struct lm_block *first = cache->behind[class_index];
  if (first == LM_NO_BLOCK) return NULL;
  cache->behind[class_index] = LM_NO_BLOCK;
  return begin_list(cache, class_index, first);
}

static void *take_from_depot(struct lm_cache *cache, size_t class_index) {
  end_bulk(cache);
  learn_cap(cache, class_index);
  struct lm_block *first = lm_depot_take(cache->central, class_index);
  return first != NULL ? begin_list(cache, class_index, first) : NULL;
}

static void *take_from_spans(struct lm_cache *cache, size_t class_index, bool *zero) {
  struct lm_block *rest;
  size_t cap = cache->caps[class_index], count;
  void *block = lm_central_take(cache->central, class_index, cap, &rest, &count, zero);
  if (block == NULL) return NULL;
  lm_assert(count != 0 && cache->lists[class_index] == LM_NO_BLOCK);
  cache->lists[class_index] = rest;
  set_left(cache, class_index, cap - lm_min(cap, count));
  return block;
}

void *lm_cache_refill(struct lm_cache *cache, size_t class_index, bool *zero) {
  *zero = false;
  lm_inspect_empty_list(cache, class_index);
  void *block = take_behind(cache, class_index);
  if (block != NULL) return block;
  block = take_from_depot(cache, class_index);
  if (block == NULL) block = take_from_spans(cache, class_index, zero);
  lm_tick_event(cache);
  return block;
}

void *lm_cache_refill_middle(struct lm_cache *cache, size_t class_index) {
  lm_inspect_empty_list(cache, class_index);
  void *block = take_behind(cache, class_index);
  if (block == NULL) {
    block = take_from_depot(cache, class_index);
    if (block == NULL) {
      struct lm_block *first = lm_depot_take_elsewhere(cache->central, class_index);
      if (first != NULL) block = begin_list(cache, class_index, first);
    }
    if (block == NULL) {
      lm_depot_learn_middle(cache->central, class_index);
      set_left(cache, class_index, cache->caps[class_index]);
    }
    lm_tick_event(cache);
  }
  return block;
}

/* ---- Overflow ---- */

/* A list goes to the depot of the central that its first block comes from: there it is asked for,
 * if one thread takes what another frees, and blocks that share cache lines stay together. */
static bool give_to_depot(struct lm_cache *cache, size_t class_index, struct lm_block *first,
                          bool *wanted) {
  bool small = lm_class_is_small(class_index);
  struct lm_central *central = small ? lm_span_of(first)->central : cache->central;
  return lm_depot_give(central, class_index, first, wanted);
}

/* A list that the cache has no room for. */
static void give_list(struct lm_cache *cache, size_t class_index, struct lm_block *first) {
  bool wanted, given = give_to_depot(cache, class_index, first, &wanted);
  if (LM_LIKELY(given && wanted)) return;
  if (!given) lm_depot_put_back(cache->central, class_index, first);
  cache->unwanted_bytes += cache->caps[class_index] * lm_sizeclass_bytes(class_index);
  if (cache->unwanted_bytes >= BULK_BYTES) begin_bulk(cache);
}

/* Classes that are looked through with each list that goes home. */
#define CLASSES_PER_LIST 4

/* The list that is full goes home, in bulk. */
static void send_list(struct lm_cache *cache, size_t class_index) {
  struct lm_block *first = cache->lists[class_index];
  cache->lists[class_index] = LM_NO_BLOCK;
  if (first != LM_NO_BLOCK && lm_depot_put_back(cache->central, class_index, first)) {
    end_bulk(cache);
    return;
  }
  for (int i = 0; i < CLASSES_PER_LIST; i++) send_next_class(cache);
}

/* The same by the clock, and at the thread's end; or none. */
static void give_or_put_back(struct lm_cache *cache, size_t class_index, struct lm_block *first) {
  bool wanted;
  if (first != LM_NO_BLOCK && !give_to_depot(cache, class_index, first, &wanted))
    lm_depot_put_back(cache->central, class_index, first);
}

static void begin_another(struct lm_cache *cache, size_t class_index) {
  struct lm_block *first = cache->lists[class_index], *behind = cache->behind[class_index];
  if (first == LM_NO_BLOCK) return;
  cache->behind[class_index] = first;
  cache->lists[class_index] = LM_NO_BLOCK;
  if (behind == LM_NO_BLOCK) return;
  learn_cap(cache, class_index);
  give_list(cache, class_index, behind);
}

void lm_cache_overflow(struct lm_cache *cache, size_t class_index, struct lm_block *block) {
  lm_assert(lm_cache_is_threads(cache) && class_index != 0 && class_index < LM_BIN_COUNT);
  *lm_cache_left(cache, class_index) = 0;
  if (LM_UNLIKELY(cache->caps[class_index] == 0)) learn_cap(cache, class_index);
  if (LM_UNLIKELY(cache->in_bulk)) send_list(cache, class_index);
  else begin_another(cache, class_index);
  lm_cache_push(cache, class_index, block);
  size_t cap = cache->in_bulk ? bulk_cap(cache, class_index) : cache->caps[class_index];
  set_left(cache, class_index, cap - 1);
  lm_tick_event(cache); /* also of a thread that takes and frees the same block for ever */
}

void lm_cache_age(struct lm_cache *cache, uint64_t elapsed_ms) {
  size_t count = (size_t)lm_min(elapsed_ms, LM_CACHE_AGE_MS) * LM_BIN_COUNT / LM_CACHE_AGE_MS + 1;
  for (; count > 0; count--) {
    struct leaving leaving = take_next_class(cache);
    for (size_t i = 0; i < 2; i++) give_or_put_back(cache, leaving.class_index, leaving.lists[i]);
  }
}

void lm_cache_flush(struct lm_cache *cache) {
  end_bulk(cache);
  for (size_t i = 1; i < LM_BIN_COUNT; i++) {
    struct lm_block *first = cache->lists[i], *behind = cache->behind[i];
    cache->lists[i] = cache->behind[i] = LM_NO_BLOCK;
    *lm_cache_left(cache, i) = 0;
    if (first != LM_NO_BLOCK) lm_depot_put_back(cache->central, i, first);
    if (behind != LM_NO_BLOCK) lm_depot_put_back(cache->central, i, behind);
  }
}

/* ---- Threads ---- */

LM_REQUIRES(lm_caches_lock) static void add_threads(size_t count) {
  lm_store_relaxed(&lm_pool_thread_count, lm_load_relaxed(&lm_pool_thread_count) + count);
}

static struct lm_cache *take_idle(void) {
  lm_lock_take(&lm_caches_lock);
  struct lm_cache *cache = idle_caches;
  if (cache != NULL) {
    idle_caches = cache->next_idle;
    add_threads(1);
  }
  lm_lock_free(&lm_caches_lock);
  return cache;
}

/* Neighbours in number ask different centrals. */
static struct lm_cache *make_cache(void) {
  struct lm_cache *cache = lm_meta_take_pages(sizeof *cache);
  if (cache == NULL) return NULL;
  lm_cache_empty_lists(cache);
  lm_lock_take(&lm_caches_lock);
  uint32_t number = (uint32_t)lm_cache_made_count++;
  cache->next_made = lm_load_relaxed(&lm_caches_made);
  cache->close_looks = LM_INSPECT_FREES;
  lm_store_release(&lm_caches_made, cache);
  add_threads(1);
  lm_lock_free(&lm_caches_lock);
  cache->central = lm_central_at(number);
  return cache;
}

static void store_idle(struct lm_cache *cache) {
  lm_lock_take(&lm_caches_lock);
  cache->next_idle = idle_caches;
  idle_caches = cache;
  lm_assert(lm_load_relaxed(&lm_pool_thread_count) != 0);
  add_threads((size_t)-1);
  lm_lock_free(&lm_caches_lock);
}

struct lm_cache *lm_cache_begin(void) {
  struct lm_cache *cache = take_idle();
  if (cache == NULL) cache = make_cache();
  if (cache == NULL) return NULL;
  if (cache->central == NULL) cache->central = lm_central_at(0);
  if (cache->central == NULL) {
    store_idle(cache);
    return NULL;
  }
  lm_assert(cache->thread_id == 0 && cache->granted_bytes == 0);
  cache->thread_id = lm_os_thread_id();
  cache->seen_ms = lm_os_clock_ms();
  return cache;
}

void lm_cache_end(struct lm_cache *cache) {
  cache->thread_id = 0;
  end_bulk(cache);
  for (size_t i = 1; i < LM_BIN_COUNT; i++) {
    struct lm_block *lists[] = {cache->behind[i], cache->lists[i]};
    cache->lists[i] = cache->behind[i] = LM_NO_BLOCK;
    *lm_cache_left(cache, i) = 0;
    for (size_t k = 0; k < 2; k++) give_or_put_back(cache, i, lists[k]);
    if (cache->caps[i] != 0) set_cap(cache, i, 0);
  }
  lm_assert(cache->granted_bytes == 0);
  lm_tick(cache);
  store_idle(cache);
}

void lm_cache_after_fork(struct lm_cache *cache) {
  if (!lm_cache_is_empty(cache)) cache->thread_id = lm_os_thread_id();
  lm_store_relaxed(&lm_pool_thread_count, lm_cache_is_empty(cache) ? 0 : 1);
}
