#include "thread/valid.h"

#if LM_VALIDATES

#include "os/panic.h"

static void validate_bin(const struct lm_cache *cache, size_t class_index) {
  size_t cap = cache->caps[class_index], most = lm_list_blocks[class_index];
  lm_tally tally = *lm_cache_tally((struct lm_cache *)cache, class_index);
  struct lm_block *first = cache->lists[class_index];
  size_t count = lm_list_validate(first, class_index, false, lm_list_new_mark());
  lm_must(cap <= most && count <= lm_tally_count(tally) && lm_tally_count(tally) <= 2 * most);
  int32_t allowance = tally >> 16;
  if (allowance >= 0) lm_must(lm_tally_count(tally) + allowance / LM_ALLOWANCE_OF_FREE <= 2 * cap);
}

static void validate_homeward(const struct lm_cache *cache) {
  lm_must(cache->homeward.count <= LM_HOMEWARD_COUNT);
  for (size_t i = 0; i < cache->homeward.count; i++) {
    const struct lm_block *block = cache->homeward.blocks[i];
    lm_must(lm_is_block(block) && lm_region_holds((uintptr_t)block));
    uint32_t tag = lm_load_relaxed(&lm_span_record_of(block)->tag);
    lm_must(lm_tag_is_small(tag) && !lm_tag_is_shared(tag));
    lm_must(lm_span_has_block_at(lm_span_of(block), block));
  }
}

void lm_cache_validate(const struct lm_cache *cache) {
  size_t granted_bytes = 0;
  lm_must(lm_cache_is_threads(cache));
  lm_must(cache->lists[0] == LM_NO_BLOCK && cache->caps[0] == 0);
  for (size_t i = 1; i < LM_BIN_COUNT; i++) {
    validate_bin(cache, i);
    granted_bytes += 2 * cache->caps[i] * lm_sizeclass_bytes(i);
  }
  lm_must(granted_bytes == cache->granted_bytes);
  validate_homeward(cache);
  for (size_t tag = LM_CLASS_COUNT; tag < LM_TAG_LIMIT; tag++) lm_must(cache->tallies[tag] == 0);
}

#endif
