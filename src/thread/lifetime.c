#include "thread/lifetime.h"

#include "os/os.h"
#include "os/panic.h"
#include "pages/meta.h"
#include "thread/idle.h"
#include "thread/inspect.h"
#include "thread/tick.h"

static void add_threads(size_t count) {
  lm_lock_take(&lm_caches_lock);
  lm_store_relaxed(&lm_pool_thread_count, lm_load_relaxed(&lm_pool_thread_count) + count);
  lm_lock_free(&lm_caches_lock);
}

/* Neighbours in number ask different centrals. */
static struct lm_cache *make_cache(void) {
  struct lm_cache *cache = lm_meta_take_pages(sizeof *cache);
  if (cache == NULL) return NULL;
  lm_cache_empty_lists(cache);
  for (size_t i = 1; i < LM_BIN_COUNT; i++)
    *lm_cache_tally(cache, i) = lm_tally_make(LM_ALLOWS_NONE, 0);
  lm_lock_take(&lm_caches_lock);
  uint32_t number = (uint32_t)lm_cache_made_count++;
  cache->next_made = lm_load_relaxed(&lm_caches_made);
  cache->close_looks = LM_INSPECT_FREES;
  lm_store_release(&lm_caches_made, cache);
  lm_lock_free(&lm_caches_lock);
  cache->central = lm_central_at(number);
  return cache;
}

struct lm_cache *lm_cache_begin(void) {
  struct lm_cache *cache = lm_idle_take();
  if (cache == NULL) cache = make_cache();
  if (cache == NULL) return NULL;
  if (cache->central == NULL) cache->central = lm_central_at(0);
  if (cache->central == NULL) {
    lm_idle_put(cache);
    return NULL;
  }
  lm_assert(cache->thread_id == 0 && cache->homeward.count == 0);
  add_threads(1);
  cache->clock.seen_ms = lm_os_clock_ms();
  return cache;
}

void lm_cache_end(struct lm_cache *cache) {
  cache->thread_id = 0;
  add_threads((size_t)-1);
  lm_tick(cache);
  lm_idle_put(cache);
}

void lm_cache_after_fork(struct lm_cache *cache) {
  if (!lm_cache_is_empty(cache)) cache->thread_id = lm_os_thread_id();
  lm_store_relaxed(&lm_pool_thread_count, lm_cache_is_empty(cache) ? 0 : 1);
}

bool lm_cache_no_thread_has_any(void (*then)(void)) {
  lm_lock_take(&lm_caches_lock);
  bool none = lm_load_relaxed(&lm_pool_thread_count) == 0;
  if (none) then();
  lm_lock_free(&lm_caches_lock);
  return none;
}
