#include "pages/region_map.h"

#include "base/bits.h"

_Atomic(uint64_t) lm_region_map[((size_t)1 << (LM_REGION_ADDRESS_BITS - LM_REGION_SHIFT)) / 64];

static void set_in_map(uintptr_t address, bool present) {
  uintptr_t index = address >> LM_REGION_SHIFT;
  uint64_t bit = (uint64_t)1 << (index % 64);
  if (present) lm_or_relaxed(&lm_region_map[index / 64], bit);
  else lm_and_relaxed(&lm_region_map[index / 64], ~bit);
}

/* The shorter regions: where each begins, and in the lowest bits, which are 0 there, the logarithm
 * of its length. Written under lm_tags_lock; read by lm_region_reaches. */
#define SHORT_MAX 64
static _Atomic(uintptr_t) short_regions[SHORT_MAX]; /* 0: none */
_Atomic(uint32_t) lm_region_short_count;

bool lm_region_reaches(uintptr_t address) {
  for (size_t i = 0; i < SHORT_MAX; i++) {
    uintptr_t entry = lm_load_relaxed(&short_regions[i]);
    if (lm_align_down(entry, LM_REGION_BYTES) != lm_align_down(address, LM_REGION_BYTES)) continue;
    return (address & (LM_REGION_BYTES - 1)) >> (entry & (LM_REGION_BYTES - 1)) == 0;
  }
  return true;
}

static uintptr_t short_entry(uintptr_t start, size_t bytes) {
  return start + lm_log2_floor(bytes);
}

/* Puts an entry in the place of another. False if that is not there. The lock is held. */
static bool change_short(uintptr_t before, uintptr_t entry) {
  for (size_t i = 0; i < SHORT_MAX; i++) {
    if (lm_load_relaxed(&short_regions[i]) != before) continue;
    lm_store_relaxed(&short_regions[i], entry);
    uint32_t count = lm_load_relaxed(&lm_region_short_count);
    lm_store_relaxed(&lm_region_short_count, entry != 0 ? count + 1 : count - 1);
    return true;
  }
  return false;
}

bool lm_region_map_add(uintptr_t address, size_t bytes) {
  if (bytes < LM_REGION_BYTES && !change_short(0, short_entry(address, bytes))) return false;
  set_in_map(address, true);
  return true;
}

void lm_region_map_remove(uintptr_t address, size_t bytes) {
  set_in_map(address, false);
  if (bytes < LM_REGION_BYTES) change_short(short_entry(address, bytes), 0);
}

/* Places in which a huge block has begun at any time. Set by any thread, never cleared. */
static _Atomic(uint64_t)
    huge_map[((size_t)1 << (LM_REGION_ADDRESS_BITS - LM_REGION_SHIFT)) / 64];

void lm_region_note_huge(uintptr_t address) {
  uintptr_t index = address >> LM_REGION_SHIFT;
  uint64_t bit = (uint64_t)1 << (index % 64);
  if (index >> (LM_REGION_ADDRESS_BITS - LM_REGION_SHIFT) != 0) return;
  if ((lm_load_relaxed(&huge_map[index / 64]) & bit) == 0)
    lm_or_relaxed(&huge_map[index / 64], bit);
}

bool lm_region_map_has_blocks(uintptr_t address, size_t bytes) {
  for (size_t i = 0; i < bytes; i += LM_REGION_BYTES) {
    uintptr_t index = (address + i) >> LM_REGION_SHIFT;
    uint64_t places = lm_load_relaxed(&lm_region_map[index / 64]) |
                      lm_load_relaxed(&huge_map[index / 64]);
    if ((places >> (index % 64) & 1) != 0) return true;
  }
  return false;
}
