/* Where regions are, and where huge blocks have been: one bit for each place in the address space
 * where one can be. (Rejected: the table of tags for this, too. A process whose address space is
 * limited has none.) */
#ifndef LM_PAGES_REGION_MAP_H
#define LM_PAGES_REGION_MAP_H

#include "base/atomic.h"
#include "base/compiler.h"

#if LM_BITS_64
#define LM_REGION_SHIFT 26
#define LM_REGION_ADDRESS_BITS 48
#else
#define LM_REGION_SHIFT 23
#define LM_REGION_ADDRESS_BITS 32
#endif
#define LM_REGION_BYTES ((size_t)1 << LM_REGION_SHIFT)

extern _Atomic(uint64_t)
    lm_region_map[((size_t)1 << (LM_REGION_ADDRESS_BITS - LM_REGION_SHIFT)) / 64];

/* Regions that are shorter than their place (region.h). Written under lm_tags_lock; read by calls
 * with an unknown address. */
extern _Atomic(uint32_t) lm_region_short_count;
/* Whether an address in a region's place is in what the region has of it. */
bool lm_region_reaches(uintptr_t address);

/* Whether `address`, which may be anything, lies in a region. */
LM_INLINE bool lm_region_holds(uintptr_t address) {
  uintptr_t index = address >> LM_REGION_SHIFT;
  if (index >> (LM_REGION_ADDRESS_BITS - LM_REGION_SHIFT) != 0) return false;
  if (((lm_load_relaxed(&lm_region_map[index / 64]) >> (index % 64)) & 1) == 0) return false;
  return LM_LIKELY(lm_load_relaxed(&lm_region_short_count) == 0) || lm_region_reaches(address);
}

/* Puts a region of so many bytes on the map; false if there is no room for one that is shorter than
 * its place. This and the next under lm_tags_lock. */
bool lm_region_map_add(uintptr_t address, size_t bytes);
void lm_region_map_remove(uintptr_t address, size_t bytes);

/* A block that is a mapping of its own begins at the address: its tag must stay readable. */
void lm_region_note_huge(uintptr_t address);

/* Whether there is anything in these bytes that may be freed. */
bool lm_region_map_has_blocks(uintptr_t address, size_t bytes);

#endif
