/* Where regions are: one bit for each place in the address space where one can be. */
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

extern _Atomic(uint64_t)
    lm_region_map[((size_t)1 << (LM_REGION_ADDRESS_BITS - LM_REGION_SHIFT)) / 64];

/* Whether `address`, which may be anything, lies in a region. */
LM_INLINE bool lm_region_holds(uintptr_t address) {
  uintptr_t index = address >> LM_REGION_SHIFT;
  if (index >> (LM_REGION_ADDRESS_BITS - LM_REGION_SHIFT) != 0) return false;
  return (lm_load_relaxed(&lm_region_map[index / 64]) >> (index % 64)) & 1;
}

#endif
