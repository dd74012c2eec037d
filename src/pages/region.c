#include "pages/region.h"

_Atomic(uint64_t) lm_region_map[((size_t)1 << (LM_REGION_ADDRESS_BITS - LM_REGION_SHIFT)) / 64];

static void map_region(uintptr_t address, bool present) {
  uintptr_t index = address >> LM_REGION_SHIFT;
  uint64_t bit = (uint64_t)1 << (index % 64);
  if (present) lm_or_relaxed(&lm_region_map[index / 64], bit);
  else lm_and_relaxed(&lm_region_map[index / 64], ~bit);
}

/* Reserves; at the process's limit of address space, once more without the table of tags. */
static int reserve_region(void **address) {
  int error = lm_os_reserve(LM_REGION_BYTES, LM_REGION_BYTES, address);
  if (error != 0 && lm_os_address_space_limited() && lm_tags_give_up(lm_region_holds))
    error = lm_os_reserve(LM_REGION_BYTES, LM_REGION_BYTES, address);
  return error;
}

struct lm_region *lm_region_new(struct lm_pool *pool) {
  void *address;
  size_t header_bytes = lm_align_up(sizeof(struct lm_region), LM_SLICE_BYTES);
  if (reserve_region(&address) != 0) return NULL;
  bool fits = (uintptr_t)address >> (LM_REGION_ADDRESS_BITS - 1) <= 1 &&
              (((uintptr_t)address >> LM_SLICE_SHIFT) & lm_tags.mask) ==
                  (lm_tags.mask == 0 ? 0 : (uintptr_t)address >> LM_SLICE_SHIFT);
  if (!fits || (!lm_os.overcommit && lm_os_commit(address, header_bytes) != 0) ||
      lm_tags_commit((uintptr_t)address, LM_REGION_BYTES) != 0) {
    lm_os_release(address, LM_REGION_BYTES);
    return NULL;
  }
  struct lm_region *region = address;
  region->pool = pool;
  region->first_slice = (uint32_t)(header_bytes >> LM_SLICE_SHIFT);
  region->run_limit = (uint32_t)(LM_REGION_BYTES >> lm_os.page_shift);
  lm_bitmap_set(region->used_slices, 0, region->first_slice);
  lm_bitmap_set(region->used_pages, 0, header_bytes >> lm_os.page_shift);
  if (lm_os.overcommit) lm_bitmap_set(region->committed_slices, 0, LM_REGION_SLICES);
  else lm_bitmap_set(region->committed_slices, 0, region->first_slice);
  map_region((uintptr_t)address, true);
  return region;
}

void lm_region_end(struct lm_region *region) {
  map_region((uintptr_t)region, false);
  lm_tags_clear((uintptr_t)region, LM_REGION_BYTES);
  lm_os_release(region, LM_REGION_BYTES);
}
