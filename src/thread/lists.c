#include "thread/lists.h"

#include "central/depot.h"
#include "central/put.h"
#include "central/spans.h"
#include "central/take.h"
#include "os/misuse.h"
#include "os/panic.h"
#include "thread/inspect.h"

/* ---- How long lists may be ---- */

/* The thread's share of what all caches may keep. */
static size_t share_bytes(void) {
  size_t thread_count = lm_max(lm_load_relaxed(&lm_pool_thread_count), 1);
  return lm_caches_bytes() / thread_count;
}

/* Where the share does not allow more, a list has twice so much; of blocks that are larger, which
 * keep no page but their own, up to a part of the share. */
#define FEW_BYTES (2 * LM_KIB)
#define SHARE_PARTS 16

static size_t few_blocks(size_t class_index) {
  size_t bytes = lm_sizeclass_bytes(class_index);
  size_t count = bytes <= FEW_BYTES ? FEW_BYTES / bytes : share_bytes() / SHARE_PARTS / (2 * bytes);
  return lm_min(count, lm_list_blocks[class_index]);
}

/* What a list has at most. */
static size_t bytes_of_cap(size_t class_index, size_t cap) {
  return 2 * cap * lm_sizeclass_bytes(class_index);
}

static void set_cap(struct lm_cache *cache, size_t class_index, size_t cap) {
  lm_assert(cap <= lm_list_blocks[class_index]);
  lm_assert(bytes_of_cap(class_index, cache->caps[class_index]) <= cache->granted_bytes);
  cache->granted_bytes -= bytes_of_cap(class_index, cache->caps[class_index]);
  cache->granted_bytes += bytes_of_cap(class_index, cap);
  cache->caps[class_index] = (uint16_t)cap;
}

/* A central is asked for blocks of the class, or to take some: what may the list have from here on?
 * Half of what is left of the share, so that other classes find some. */
static void renew_cap(struct lm_cache *cache, size_t class_index) {
  size_t cap = cache->caps[class_index], most = lm_list_blocks[class_index];
  size_t share = share_bytes(), granted = cache->granted_bytes - bytes_of_cap(class_index, cap);
  if (LM_LIKELY(cap == most && cache->granted_bytes <= share)) return;
  size_t room = (share - lm_min(granted, share)) / 2;
  if (room < bytes_of_cap(class_index, most))
    most = lm_max(room / bytes_of_cap(class_index, 1), few_blocks(class_index));
  set_cap(cache, class_index, most);
}

/* Frees that are all looked at, or wait to go home together, take the slow path. */
static bool takes_frees(const struct lm_cache *cache, size_t class_index) {
  if (cache->close_looks != 0 || LM_OPTION(fill) == LM_FILL_JUNK) return false;
  return cache->homeward.limit == 0 || !lm_class_is_small(class_index);
}

/* The list has up to `count` blocks, and takes frees up to what it may have. */
static void set_tally(struct lm_cache *cache, size_t class_index, size_t count) {
  size_t most = 2u * cache->caps[class_index];
  bool takes = LM_LIKELY(count <= most && takes_frees(cache, class_index));
  int32_t allowance = takes ? (int32_t)(most - count) * LM_ALLOWANCE_OF_FREE : LM_ALLOWS_NONE;
  *lm_cache_tally(cache, class_index) = lm_tally_make(allowance, count);
}

/* So many blocks the list has at most. */
static size_t count_max(struct lm_cache *cache, size_t class_index) {
  return lm_tally_count(*lm_cache_tally(cache, class_index));
}

/* ---- Lists that leave the cache ---- */

/* All of the class; LM_NO_BLOCK if there is none. */
static struct lm_block *take_all(struct lm_cache *cache, size_t class_index) {
  struct lm_block *first = cache->lists[class_index];
  cache->lists[class_index] = LM_NO_BLOCK;
  set_tally(cache, class_index, 0);
  return first;
}

/* A list of at most `most` blocks, which are no more than a whole one has, goes to the depot, or
 * else home. The depot is that of the central that its first block comes from: there it is asked
 * for, if one thread takes what another frees, and blocks that share cache lines stay together. */
static enum lm_list_fate give_list(struct lm_cache *cache, size_t class_index,
                                   struct lm_block *first, size_t most) {
  bool small = lm_class_is_small(class_index);
  struct lm_central *central = small ? lm_span_of(first)->central : cache->central;
  enum lm_list_fate fate = lm_depot_give(central, class_index, first, most);
  if (fate == LM_LIST_REFUSED) lm_depot_put_back(cache->central, class_index, first, true);
  return fate;
}

/* The same of one that may be longer: depots know by the number of lists how much they have.
 * Returns the last one's fate. */
static enum lm_list_fate give_lists(struct lm_cache *cache, size_t class_index,
                                    struct lm_block *first, size_t most) {
  size_t whole = lm_list_blocks[class_index];
  enum lm_list_fate fate = LM_LIST_WANTED;
  for (struct lm_block *rest; first != LM_NO_BLOCK; first = rest) {
    if (LM_UNLIKELY(!lm_is_block(first))) lm_misuse_broken_link(lm_sizeclass_bytes(class_index));
    if (most <= whole) return give_list(cache, class_index, first, most);
    size_t count = whole;
    rest = lm_list_cut(first, &count, class_index);
    fate = give_list(cache, class_index, first, count);
    most -= count;
  }
  return fate;
}

/* All of the class goes to the depot, or else home. */
static void give_class(struct lm_cache *cache, size_t class_index) {
  size_t most = count_max(cache, class_index);
  give_lists(cache, class_index, take_all(cache, class_index), most);
}

/* The class has no block, and is not asked for. */
static void forget_class(struct lm_cache *cache, size_t class_index) {
  set_cap(cache, class_index, 0);
  set_tally(cache, class_index, 0);
}

/* All of the class goes home. */
static void send_class(struct lm_cache *cache, size_t class_index) {
  struct lm_block *first = take_all(cache, class_index);
  if (first != LM_NO_BLOCK) lm_depot_put_back(cache->central, class_index, first, false);
}

static size_t next_class(struct lm_cache *cache) {
  cache->next_class = cache->next_class % (LM_BIN_COUNT - 1) + 1;
  return cache->next_class;
}

/* ---- Memory that is freed in bulk ---- */

/* So many more lists that nobody wants than are asked for are a sign of it. */
#define BULK_LISTS 8
/* With so many blocks that go home, or fewer, the lists of a class do. */
#define BLOCKS_PER_CLASS 8

void lm_cache_send_homeward(struct lm_cache *cache) {
  struct lm_homeward *homeward = &cache->homeward;
  if (homeward->count != 0) lm_central_put_blocks(homeward->blocks, homeward->count);
  homeward->count = 0;
}

/* Each thread keeps its part of what one may. Frees that are all looked at wait for none. */
static void set_homeward_limit(struct lm_cache *cache) {
  size_t thread_count = lm_max(lm_load_relaxed(&lm_pool_thread_count), 1);
  size_t limit = cache->close_looks != 0 ? 1 : LM_HOMEWARD_COUNT / thread_count;
  cache->homeward.limit = lm_max(limit, 1);
}

static void begin_bulk(struct lm_cache *cache) {
  set_homeward_limit(cache);
  for (size_t i = 1; i < LM_CLASS_COUNT; i++) set_tally(cache, i, count_max(cache, i));
}

/* Malloc asks a central, or it has lasted for a while. */
static void end_bulk(struct lm_cache *cache) {
  cache->unwanted_count = 0;
  cache->homeward.limit = 0;
  cache->homeward.age_ms = 0;
  if (LM_UNLIKELY(cache->homeward.count != 0)) lm_cache_send_homeward(cache);
}

/* A list has left the cache. */
static void note_list(struct lm_cache *cache, enum lm_list_fate fate) {
  if (fate == LM_LIST_LEARNED) return;
  if (LM_UNLIKELY(fate != LM_LIST_WANTED)) cache->unwanted_count++;
  else if (cache->unwanted_count != 0) cache->unwanted_count--;
  if (LM_UNLIKELY(cache->unwanted_count == BULK_LISTS)) begin_bulk(cache);
}

static void send_lists(struct lm_cache *cache, size_t block_count) {
  for (size_t i = 0; i < block_count; i += BLOCKS_PER_CLASS) {
    size_t class_index = next_class(cache), effort = 1;
    send_class(cache, class_index);
    lm_depot_age(cache->central, class_index, true, &effort);
    if (lm_class_is_small(class_index)) lm_central_end_empty(cache->central, class_index, true);
  }
}

static void free_last_in_bulk(struct lm_cache *cache, struct lm_block *block) {
  lm_assert(cache->homeward.count < LM_HOMEWARD_COUNT);
  cache->homeward.blocks[cache->homeward.count++] = block;
  send_lists(cache, cache->homeward.count);
  lm_cache_send_homeward(cache);
  set_homeward_limit(cache); /* there may be more threads */
}

/* ---- By the clock ---- */

void lm_cache_age(struct lm_cache *cache, uint64_t elapsed_ms) {
  size_t count = (size_t)lm_min(elapsed_ms, LM_CACHE_AGE_MS) * LM_BIN_COUNT / LM_CACHE_AGE_MS + 1;
  for (; count > 0; count--) {
    size_t class_index = next_class(cache);
    if (cache->lists[class_index] == LM_NO_BLOCK) forget_class(cache, class_index);
    else give_class(cache, class_index);
  }
  cache->homeward.age_ms += elapsed_ms;
  if (cache->homeward.age_ms >= LM_CACHE_AGE_MS) end_bulk(cache);
}

/* ---- Refill ---- */

/* So many blocks the class is asked for: twice as many with each call, up to its cap. */
static size_t next_want(struct lm_cache *cache, size_t class_index) {
  size_t few = FEW_BYTES / lm_sizeclass_bytes(class_index);
  size_t want = lm_max(cache->wants[class_index], few);
  want = lm_max(lm_min(want, cache->caps[class_index]), 1);
  cache->wants[class_index] = (uint16_t)(2 * want);
  return want;
}

/* Before a central is asked for blocks of a class of which the cache has none. */
static size_t begin_refill(struct lm_cache *cache, size_t class_index) {
  lm_inspect_empty_list(cache, class_index);
  end_bulk(cache);
  renew_cap(cache, class_index);
  return next_want(cache, class_index);
}

/* One of at most `count` blocks is malloc's; `rest` becomes the cache's list. */
static void end_refill(struct lm_cache *cache, size_t class_index, struct lm_block *rest,
                       size_t count) {
  lm_assert(count != 0 && cache->lists[class_index] == LM_NO_BLOCK);
  cache->lists[class_index] = rest;
  set_tally(cache, class_index, count - 1);
}

void *lm_cache_refill(struct lm_cache *cache, size_t class_index, bool *zero) {
  struct lm_block *rest;
  size_t count, want = begin_refill(cache, class_index);
  void *block = lm_central_take(cache->central, class_index, want, &rest, &count, zero);
  if (block != NULL) end_refill(cache, class_index, rest, count);
  return block;
}

void *lm_cache_refill_middle(struct lm_cache *cache, size_t class_index) {
  size_t count, want = begin_refill(cache, class_index);
  struct lm_block *first = lm_depot_take(cache->central, class_index, want, &count);
  if (first == NULL) first = lm_depot_take_elsewhere(cache->central, class_index, want, &count);
  if (first != NULL) {
    end_refill(cache, class_index, lm_block_next(first), count);
  } else {
    lm_depot_learn_middle(cache->central, class_index);
    set_tally(cache, class_index, 0);
  }
  return first;
}

/* ---- Overflow ---- */

/* The list may be full: then it keeps a half. */
static void shorten_list(struct lm_cache *cache, size_t class_index) {
  struct lm_block *rest = LM_NO_BLOCK;
  size_t most = count_max(cache, class_index), cap = cache->caps[class_index], count = most;
  if (most >= 2 * cap) {
    count = cap;
    rest = lm_list_cut(cache->lists[class_index], &count, class_index);
    renew_cap(cache, class_index);
  }
  set_tally(cache, class_index, count + 1);
  if (rest != LM_NO_BLOCK) note_list(cache, give_lists(cache, class_index, rest, most - count));
}

/* Nothing of the class is kept. */
static void send_block(struct lm_cache *cache, size_t class_index, struct lm_block *block) {
  lm_block_link(block, LM_NO_BLOCK);
  lm_depot_put_back(cache->central, class_index, block, true);
}

static void push_or_send(struct lm_cache *cache, size_t class_index, struct lm_block *block) {
  if (LM_UNLIKELY(cache->caps[class_index] == 0)) renew_cap(cache, class_index);
  if (LM_LIKELY(cache->caps[class_index] != 0)) {
    shorten_list(cache, class_index);
    lm_cache_push(cache, class_index, block);
  } else {
    send_block(cache, class_index, block);
  }
}

void lm_cache_overflow(struct lm_cache *cache, size_t class_index, struct lm_block *block) {
  lm_assert(lm_cache_is_threads(cache) && class_index != 0 && class_index < LM_BIN_COUNT);
  if (LM_UNLIKELY(cache->homeward.limit != 0) && lm_class_is_small(class_index))
    free_last_in_bulk(cache, block);
  else push_or_send(cache, class_index, block);
}

void lm_cache_flush(struct lm_cache *cache) {
  end_bulk(cache);
  for (size_t i = 1; i < LM_BIN_COUNT; i++) send_class(cache, i);
}

void lm_cache_give_up(struct lm_cache *cache) {
  end_bulk(cache);
  for (size_t i = 1; i < LM_BIN_COUNT; i++) {
    cache->wants[i] = 0;
    if (cache->lists[i] != LM_NO_BLOCK) give_class(cache, i);
    if (cache->caps[i] != 0) forget_class(cache, i);
  }
}
