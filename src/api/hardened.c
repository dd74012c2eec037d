#include "api/hardened.h"

#include <string.h>

#include "api/guarded.h"
#include "api/live.h"
#include "base/bits.h"
#include "central/span_life.h"
#include "large/large.h"
#include "os/misuse.h"

#if LM_HARDENED_FREES

/* Longer blocks are not held back, so that a thread holds 64 KiB at most. */
#define HELD_MAX_BYTES LM_KIB

/* ---- Which blocks the program has ---- */

void *lm_hardened_begin(void *block) {
  lm_live_begin(block);
  return block;
}

/* The bytes of a block with a class, which is in a region; 0: it has none. */
static size_t bytes_by_class(const void *block) {
  uint32_t tag = lm_tag_of(block);
  return lm_tag_is_small(tag) ? lm_classes[tag & LM_TAG_CLASS_MASK].block_bytes : 0;
}

static LM_COLD LM_NORETURN void not_live(const void *block, const char *call, void *caller) {
  bool frees = strcmp(call, "realloc") != 0 && strcmp(call, "malloc_usable_size") != 0;
  bool begins = (uintptr_t)block % LM_GRANULE_BYTES == 0 &&
                (bytes_by_class(block) != 0 ? lm_span_has_block_at(lm_span_of(block), block)
                                         : lm_large_is_free(block));
  if (frees && begins) lm_misuse_double_free(block, caller);
  lm_misuse_not_a_start(block, call, caller);
}

bool lm_hardened_has(const void *block) {
  return !lm_region_holds((uintptr_t)block) || lm_live_is(block, false);
}

void lm_hardened_look(const void *block, const char *call, void *caller) {
  if (LM_UNLIKELY(!lm_hardened_has(block))) not_live(block, call, caller);
}

/* The same of a block that is in a region, and that the program has no longer. */
static void end_life(const void *block, const char *call, void *caller) {
  if (LM_UNLIKELY(!lm_live_is(block, true))) not_live(block, call, caller);
}

void *lm_hardened_retire(void *block, const char *call, void *caller) {
  if (!lm_region_holds((uintptr_t)block)) return block;
  end_life(block, call, caller);
  return memset(block, 0, bytes_by_class(block));
}

/* ---- What is held back ---- */

/* A first-class heap may be destroyed meanwhile. */
static bool may_be_held(const void *block, size_t bytes) {
  return bytes - 1 < HELD_MAX_BYTES && !lm_tag_is_shared(lm_tag_of(block));
}

static void check_clear(const void *block) {
  const char *bytes = block;
  size_t count = bytes_by_class(block);
  uint64_t word, any = 0;
  for (size_t i = 0; i < count; i += sizeof word) { /* whole granules */
    memcpy(&word, bytes + i, sizeof word);
    any |= word;
  }
  if (LM_UNLIKELY(any != 0)) lm_misuse_write_after_free(block);
}

static void let_go(void *block) {
  if (block == NULL) return;
  check_clear(block);
  lm_raw_free(block);
}

void lm_hardened_let_go(struct lm_cache *cache) {
  for (size_t i = 0; i < LM_HELD_COUNT; i++) {
    void *block = cache->held.blocks[i];
    cache->held.blocks[i] = NULL;
    let_go(block);
  }
}

/* A number that nobody foresees who does not know the cache. */
static uint64_t random_of(struct lm_cache *cache) {
  uint64_t *random = &cache->held.random;
  if (LM_UNLIKELY(*random == 0)) *random = lm_os_random() | 1;
  *random ^= *random << 13;
  *random ^= *random >> 7;
  *random ^= *random << 17;
  return *random >> 16;
}

/* ---- The calls ---- */

void lm_hardened_free(void *block, void *caller) {
  struct lm_cache *cache = LM_THREAD(lm_this_cache);
  if (!lm_region_holds((uintptr_t)block)) {
    lm_raw_free(block);
    return;
  }
  end_life(block, "free", caller);
  size_t bytes = bytes_by_class(block);
  memset(block, 0, bytes);
  if (LM_UNLIKELY(lm_cache_is_empty(cache)) || !may_be_held(block, bytes)) {
    lm_raw_free(block);
    return;
  }
  void **place = &cache->held.blocks[random_of(cache) % LM_HELD_COUNT], *held = *place;
  *place = block;
  let_go(held);
}

/* One that grows becomes longer by this part at least, for the next time. */
#define GROWTH_FRACTION 8

static void *resize_classed(void *block, size_t old_bytes, size_t size, void *caller) {
  if (size <= old_bytes && (size > old_bytes / 2 || old_bytes <= LM_KEEP_MAX_BYTES)) return block;
  size_t room = size <= old_bytes ? size : lm_max(size, old_bytes + old_bytes / GROWTH_FRACTION);
  void *copy = lm_hardened_begin(lm_raw_malloc(room));
  if (copy == NULL) return size <= old_bytes ? block : NULL;
  memcpy(copy, block, lm_min(old_bytes, size));
  lm_hardened_free(block, caller);
  return copy;
}

void *lm_hardened_realloc(void *block, size_t size, void *caller) {
  bool holds = lm_region_holds((uintptr_t)block);
  lm_hardened_look(block, "realloc", caller);
  size_t old_bytes = holds ? bytes_by_class(block) : 0;
  if (old_bytes != 0) return resize_classed(block, old_bytes, size, caller);
  if (holds) lm_live_is(block, true);
  void *resized = lm_raw_realloc(block, size, caller);
  if (resized != NULL || !holds) return lm_hardened_begin(resized);
  lm_live_begin(block);
  return NULL;
}

#endif
