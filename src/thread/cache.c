#include "thread/cache.h"

struct lm_cache lm_empty_cache = {
    .lists = {[0 ... LM_TAG_LIMIT - 1] = LM_NO_BLOCK}};
LM_THREAD_LOCAL struct lm_cache *lm_this_cache = &lm_empty_cache;
LM_THREAD_LOCAL struct lm_cache *lm_malloc_cache = &lm_empty_cache;
struct lm_lock lm_caches_lock = LM_LOCK_INIT(LM_RANK_CACHES);
size_t lm_cache_made_count;
_Atomic(struct lm_cache *) lm_caches_made;
