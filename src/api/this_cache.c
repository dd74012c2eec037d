#include "api/this_cache.h"

#include <string.h>

#include "api/aside.h"
#include "api/background.h"
#include "central/put.h"
#include "config/options.h"
#include "large/large.h"
#include "os/os.h"
#include "thread/inspect.h"
#include "thread/lifetime.h"
#include "thread/lists.h"
#include "thread/tick.h"

/* This thread's cache has been ended by the thread's end, and the thread still runs. */
LM_THREAD_LOCAL bool lm_thread_ended = false;

void lm_fill_watch(void) {
  if (LM_UNLIKELY(LM_OPTION(fill) != LM_FILL_OFF)) LM_THREAD(lm_malloc_cache) = &lm_empty_cache;
}

/* ---- Begin and end ---- */

static void set_cache(struct lm_cache *cache) {
  LM_THREAD(lm_this_cache) = cache;
  LM_THREAD(lm_malloc_cache) = cache;
  lm_fill_watch();
}

struct lm_cache *lm_cache_of_thread_slow(void) {
  lm_process_start();
  if (LM_THREAD(lm_thread_ended) || lm_is_listed()) return NULL;
  lm_os_thread_begins();
  struct lm_cache *cache = lm_cache_begin();
  if (cache == NULL) return NULL;
  set_cache(cache);
  /* These may allocate, which by now works. */
  cache->thread_id = lm_os_thread_id();
  if (LM_UNLIKELY(lm_background_is_due())) lm_background_start();
  if (LM_LIKELY(lm_os_thread_end_arm(cache))) return cache;
  /* Nobody would end it. The next call tries again. */
  set_cache(&lm_empty_cache);
  lm_cache_end(cache);
  return NULL;
}

void lm_cache_leave_thread(void) {
  set_cache(&lm_empty_cache);
  LM_THREAD(lm_thread_ended) = true;
}

/* ---- Taking ---- */

LM_COLD void lm_guard_soon(const struct lm_cache *cache) {
  if (cache == LM_THREAD(lm_this_cache)) LM_THREAD(lm_malloc_cache) = &lm_empty_cache;
}

static LM_NOINLINE void *take_when_empty(struct lm_cache *cache, size_t class_index, bool *zero) {
  void *block = lm_cache_refill(cache, class_index, zero);
  lm_tick_event(cache);
  if (LM_UNLIKELY(cache->guard.soon)) lm_guard_soon(cache);
  return block;
}

void *lm_take(struct lm_cache *cache, size_t size, bool clear) {
  if (LM_UNLIKELY(size > LM_MIDDLE_MAX_BYTES)) {
    lm_tick_event(cache);
    return lm_large_take(cache->central->pool, size, lm_os.page_bytes, clear);
  }
  if (size > lm_classed_max_bytes) return lm_middle_take(cache, size, clear);
  bool zero = false;
  size_t class_index = lm_sizeclass_of(size == 0 ? 1 : size);
  void *block = lm_cache_pop(cache, class_index);
  if (block == NULL) block = take_when_empty(cache, class_index, &zero);
  if (clear && !zero && block != NULL) memset(block, 0, size);
  return block;
}

/* ---- Giving back ---- */

/* A block that is looked at closely is compared with so many of its list, or as many as that may
 * have. */
#define COMPARED_CLOSELY 16

/* Frees a small block when its list takes no more: the class's, or none yet. */
static void free_small(struct lm_cache *cache, struct lm_block *block, size_t class_index,
                       void *caller) {
  if (LM_UNLIKELY(cache->close_looks != 0)) {
    size_t cap = cache->caps[class_index], most = lm_max(cap, COMPARED_CLOSELY);
    size_t count = lm_inspect_freed(cache, block, class_index, most, caller);
    /* Lists take none, so that the next free is looked at, too. */
    if (--cache->close_looks != 0 && count < cap && cache->homeward.limit == 0) {
      *lm_cache_tally(cache, class_index) += 1;
      lm_cache_push(cache, class_index, block);
      return;
    }
  }
  lm_cache_overflow(cache, class_index, block);
  lm_tick_event(cache); /* also of a thread that takes and frees the same block for ever */
}

void lm_small_give_slow(struct lm_block *block, size_t class_index, void *caller) {
  struct lm_cache *cache = lm_cache_of_thread();
  if (LM_LIKELY(cache != NULL)) free_small(cache, block, class_index, caller);
  else lm_central_put(block, caller);
}

void lm_small_give(struct lm_block *block, size_t class_index, void *caller) {
  struct lm_cache *cache = LM_THREAD(lm_this_cache);
  if (LM_LIKELY(lm_cache_free(cache, class_index, block))) return;
  if (!lm_cache_free_in_bulk(cache, block)) lm_small_give_slow(block, class_index, caller);
}
