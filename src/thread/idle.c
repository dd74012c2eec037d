#include "thread/idle.h"

#include "os/panic.h"
#include "thread/lists.h"

#define RESTING_MOST 8

static struct {
  struct lm_cache *resting, *empty; /* by next_idle */
  size_t resting_count, resting_bytes;
} ownerless LM_GUARDED_BY(lm_caches_lock);

LM_REQUIRES(lm_caches_lock) static void push(struct lm_cache **list, struct lm_cache *cache) {
  cache->next_idle = *list;
  *list = cache;
}

LM_REQUIRES(lm_caches_lock) static struct lm_cache *pop(struct lm_cache **list) {
  struct lm_cache *cache = *list;
  if (cache != NULL) *list = cache->next_idle;
  return cache;
}

LM_REQUIRES(lm_caches_lock) static struct lm_cache *pop_resting(void) {
  struct lm_cache *cache = pop(&ownerless.resting);
  if (cache == NULL) return NULL;
  lm_assert(ownerless.resting_count != 0 && ownerless.resting_bytes >= cache->granted_bytes);
  ownerless.resting_count--;
  ownerless.resting_bytes -= cache->granted_bytes;
  return cache;
}

struct lm_cache *lm_idle_take(void) {
  lm_lock_take(&lm_caches_lock);
  struct lm_cache *cache = pop_resting();
  if (cache == NULL) cache = pop(&ownerless.empty);
  lm_lock_free(&lm_caches_lock);
  return cache;
}

/* Nobody asks soon for what is freed in bulk. */
static bool rest(struct lm_cache *cache) {
  size_t bytes = cache->granted_bytes;
  if (bytes == 0 || cache->homeward.limit != 0) return false;
  lm_lock_take(&lm_caches_lock);
  bool fits = ownerless.resting_count < RESTING_MOST &&
              ownerless.resting_bytes + bytes <= lm_caches_bytes();
  if (fits) {
    push(&ownerless.resting, cache);
    ownerless.resting_count++;
    ownerless.resting_bytes += bytes;
  }
  lm_lock_free(&lm_caches_lock);
  return fits;
}

static void end_rest(struct lm_cache *cache) {
  lm_cache_give_up(cache);
  lm_assert(cache->granted_bytes == 0);
  lm_lock_take(&lm_caches_lock);
  push(&ownerless.empty, cache);
  lm_lock_free(&lm_caches_lock);
}

void lm_idle_put(struct lm_cache *cache) {
  if (!rest(cache)) end_rest(cache);
}

bool lm_idle_age(uint64_t now_ms, bool any) {
  lm_lock_take(&lm_caches_lock);
  struct lm_cache *cache = ownerless.resting;
  if (cache != NULL) {
    uint64_t ended_ms = cache->clock.seen_ms;
    if (any || (now_ms > ended_ms && now_ms - ended_ms >= LM_CACHE_AGE_MS)) pop_resting();
    else cache = NULL;
  }
  lm_lock_free(&lm_caches_lock);
  if (cache != NULL) end_rest(cache);
  return cache != NULL;
}
