#include "pages/region_life.h"

#include <errno.h>

#include "os/panic.h"
#include "pages/explicit.h"
#include "pages/names.h"
#include "pages/room.h"
#include "pages/runs.h"

/* Reserves; at the process's limit of address space, once more without the table of tags. */
static int reserve_region(const struct loam_page_provider *provider, size_t bytes,
                          void **address) {
  int error = lm_provider_reserve(provider, bytes, LM_REGION_BYTES, address);
  if (error != 0 && provider != &lm_explicit_pages && lm_room_make())
    error = lm_provider_reserve(provider, bytes, LM_REGION_BYTES, address);
  return error;
}

/* How long a region may be of which `least_bytes` are asked for: under a limit of address space no
 * longer than an eighth of that, since the program needs it for other things, too. 0: none. */
#define LIMIT_FRACTION 8
#define SHORTEST_BYTES (LM_REGION_BYTES / 16)
_Static_assert(sizeof(struct lm_region) <= SHORTEST_BYTES / 2, "the header leaves room for blocks");
static size_t region_bytes(const struct loam_page_provider *provider, size_t least_bytes) {
  uint64_t limit = provider == NULL ? lm_os_address_space_limit() : UINT64_MAX;
  size_t bytes = LM_REGION_BYTES;
  while (bytes > SHORTEST_BYTES && bytes > limit / LIMIT_FRACTION) bytes /= 4;
  return bytes == LM_REGION_BYTES || least_bytes <= bytes / 2 ? bytes : 0;
}

/* Reserves a region of which so many bytes are asked for, and says how long it is. Where there are
 * no more explicit pages, it is of ordinary memory. */
static int find_region(const struct loam_page_provider **provider, size_t least_bytes,
                       size_t *bytes, void **address) {
  for (;; *provider = NULL) {
    *bytes = region_bytes(*provider, least_bytes);
    int error = *bytes != 0 ? reserve_region(*provider, *bytes, address) : ENOMEM;
    if (error == 0 || *provider != &lm_explicit_pages) return error;
  }
}

/* Makes the region's tags writable and puts it on the map, which keeps them. */
static int enter_region(uintptr_t address, size_t bytes) {
  lm_lock_take(&lm_tags_lock);
  int error = lm_tags_cover(address) ? lm_tags_commit(address, LM_REGION_BYTES) : ENOMEM;
  if (error == 0) {
    ((struct lm_region *)address)->bytes = (uint32_t)bytes;
    if (!lm_region_map_add(address, bytes)) error = ENOMEM;
  }
  lm_lock_free(&lm_tags_lock);
  return error;
}

/* The header is made in memory that has been used, by a provider that does not clear it. */
static LM_COLD LM_NORETURN void fail_not_zero(const void *address) {
  LM_TEXT(text, 256);
  lm_text_string(&text, "loam: page provider: memory at ");
  lm_text_address(&text, (uintptr_t)address);
  lm_text_string(&text, " is not zero after commit");
  lm_panic(&text);
}

struct lm_region *lm_region_new(struct lm_pool *pool, size_t page_count) {
  void *address;
  const struct loam_page_provider *provider = lm_load_acquire(&pool->provider);
  size_t bytes;
  if (find_region(&provider, page_count << lm_os.page_shift, &bytes, &address) != 0) return NULL;
  size_t header_bytes = lm_align_up(sizeof(struct lm_region), LM_SLICE_BYTES);
  bool bare = provider != NULL || !lm_os.overcommit;
  if ((uintptr_t)address >> (LM_REGION_ADDRESS_BITS - 1) > 1 ||
      (bare && lm_provider_commit(provider, address, header_bytes) != 0) ||
      enter_region((uintptr_t)address, bytes) != 0) {
    lm_provider_release(provider, address, bytes);
    return NULL;
  }
  struct lm_region *region = address;
  if (provider == NULL) lm_names_give(LM_MEMORY_BLOCKS, region, bytes);
  lm_names_end_start();
  lm_provider_begin_huge(provider, region, bytes, pool->accepts_huge);
  if (region->pool != NULL) fail_not_zero(address);
  region->pool = pool;
  region->provider = provider;
  region->decommits = lm_provider_decommits(provider);
  region->first_slice = (uint32_t)(header_bytes >> LM_SLICE_SHIFT);
  region->run_limit = (uint32_t)(bytes >> lm_os.page_shift);
  lm_bitmap_set(region->used_slices, 0, region->first_slice);
  lm_bitmap_set(region->used_pages, 0, header_bytes >> lm_os.page_shift);
  lm_bitmap_set(region->used_slices, bytes >> LM_SLICE_SHIFT, LM_REGION_SLICES);
  lm_bitmap_set(region->used_pages, bytes >> lm_os.page_shift,
                LM_REGION_BYTES >> lm_os.page_shift);
  lm_runs_begin(region);
  size_t usable_bytes = bare ? header_bytes : lm_min(LM_CORE_STEP_BYTES, bytes);
  lm_bitmap_set(region->committed_slices, 0, usable_bytes >> LM_SLICE_SHIFT);
  /* The header has been written to, so that parts of the mapping become one again. */
  if (!bare) lm_os_leave_out_of_cores((char *)region + usable_bytes, bytes - usable_bytes);
  return region;
}

void lm_region_end(struct lm_region *region) {
  size_t bytes = region->bytes;
  lm_assert(lm_region_holds((uintptr_t)region));
  lm_lock_take(&lm_tags_lock);
  lm_region_map_remove((uintptr_t)region, bytes);
  lm_tags_clear((uintptr_t)region, LM_REGION_BYTES);
  lm_lock_free(&lm_tags_lock);
  lm_provider_release(region->provider, region, bytes);
}
