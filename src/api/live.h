/* Which blocks the program has: a bit for every granule of a region, where a build keeps that. */
#ifndef LM_API_LIVE_H
#define LM_API_LIVE_H

#include "pages/region.h"

#if LM_CHECKING || LM_HARDENED_FREES

/* The word and the bit of an address in a region. */
LM_INLINE _Atomic(uint64_t) *lm_live_word(const void *block, uint64_t *bit) {
  size_t granule = lm_region_offset(block) / LM_GRANULE_BYTES;
  *bit = (uint64_t)1 << (granule % 64);
  return &lm_region_of(block)->live_granules[granule / 64];
}

/* A block outside of regions says itself that it is there. */
LM_INLINE void lm_live_begin(const void *block) {
  uint64_t bit;
  if (!lm_region_holds((uintptr_t)block)) return;
  _Atomic(uint64_t) *word = lm_live_word(block, &bit);
  lm_or_relaxed(word, bit);
}

/* Whether the program has a block at the address, which is in a region; with `end`, it does no
 * longer. */
LM_INLINE bool lm_live_is(const void *block, bool end) {
  uint64_t bit;
  if ((uintptr_t)block % LM_GRANULE_BYTES != 0) return false;
  _Atomic(uint64_t) *word = lm_live_word(block, &bit);
  uint64_t before = end ? lm_and_relaxed(word, ~bit) : lm_load_relaxed(word);
  return (before & bit) != 0;
}

#endif
#endif
