#include "thread/valid.h"

#if LM_VALIDATES

#include "os/panic.h"

/* A list that came out of a depot may be longer than the class's cap, and takes no frees. */
static void validate_bin(const struct lm_cache *cache, size_t class_index) {
  size_t cap = cache->caps[class_index], most = lm_list_blocks[class_index];
  int left = class_index < LM_CLASS_COUNT ? cache->frees_left[class_index]
                                          : cache->middle_left[class_index - LM_CLASS_COUNT];
  uint64_t mark = lm_list_new_mark();
  size_t count = lm_list_validate(cache->lists[class_index], class_index, false, mark);
  lm_must(cap <= most && left >= 0);
  lm_must(left == 0 || count + (size_t)left <= most);
  lm_must(count == 0 || cap != 0);
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
  for (size_t tag = LM_CLASS_COUNT; tag < LM_TAG_LIMIT; tag++) lm_must(cache->frees_left[tag] <= 0);
}

#endif
