#include "pages/pool.h"

#include "pages/explicit.h"

struct lm_pool lm_pools[LM_POOL_MAX];
unsigned lm_pool_count = 1;
LM_CACHE_ALIGNED _Atomic(size_t) lm_pool_thread_count; /* away from what is written often */
_Atomic(struct lm_pool *) lm_own_pools;

void lm_pool_start(void) {
  /* Slices are committed when they are used: whoever steps far beyond a block meets no memory. */
  if (LM_CHECKING && !LM_FAKE_OS && !lm_os_makes_few_calls()) lm_os.overcommit = false;
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

void lm_pool_provide_all(const struct loam_page_provider *provider) {
  for (size_t i = 0; i < LM_POOL_MAX; i++) lm_pool_provide(&lm_pools[i], provider);
}

void lm_pool_begin_explicit(void) {
  if (lm_explicit_are_there()) lm_pool_provide_all(&lm_explicit_pages);
}
