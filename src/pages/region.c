#include "pages/region.h"

#include <errno.h>

#include "os/panic.h"
#include "pages/explicit.h"
#include "pages/mappings.h"
#include "pages/pool.h"
#include "pages/runs.h"

_Atomic(uint64_t) lm_region_map[((size_t)1 << (LM_REGION_ADDRESS_BITS - LM_REGION_SHIFT)) / 64];

static void map_region(uintptr_t address, bool present) {
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

/* A free that has read the multiplier may be about to read the tag of its block, whenever it goes
 * on: the tags of all blocks that there are stay. */
static bool keeps_tags(uintptr_t address, size_t bytes) {
  for (size_t i = 0; i < bytes; i += LM_REGION_BYTES) {
    uintptr_t index = (address + i) >> LM_REGION_SHIFT;
    uint64_t places = lm_load_relaxed(&lm_region_map[index / 64]) |
                      lm_load_relaxed(&huge_map[index / 64]);
    if ((places >> (index % 64) & 1) != 0) return true;
  }
  return false;
}

bool lm_region_give_up_tags(void) { return lm_tags_give_up(keeps_tags); }

bool lm_region_make_room(void) {
  bool trimmed = lm_mappings_trim();
  lm_os_look_for_address_space_limit();
  if (lm_os_address_space_limit() == UINT64_MAX) return trimmed;
  return lm_region_give_up_tags() || trimmed;
}

int lm_region_map_memory(size_t size, size_t alignment, void **result) {
  int error = lm_os_map(size, alignment, result);
  if (error != 0 && lm_region_make_room()) error = lm_os_map(size, alignment, result);
  return error;
}

/* Reserves; at the process's limit of address space, once more without the table of tags. */
static int reserve_region(const struct loam_page_provider *provider, size_t bytes,
                          void **address) {
  int error = lm_provider_reserve(provider, bytes, LM_REGION_BYTES, address);
  if (error != 0 && provider != &lm_explicit_pages && lm_region_make_room())
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
  if (error == 0 && bytes < LM_REGION_BYTES && !change_short(0, short_entry(address, bytes)))
    error = ENOMEM;
  if (error == 0) {
    ((struct lm_region *)address)->bytes = (uint32_t)bytes;
    map_region(address, true);
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
  if (!bare) lm_bitmap_set(region->committed_slices, 0, LM_REGION_SLICES);
  else lm_bitmap_set(region->committed_slices, 0, region->first_slice);
  return region;
}

void lm_region_end(struct lm_region *region) {
  size_t bytes = region->bytes;
  lm_assert(lm_region_holds((uintptr_t)region));
  lm_lock_take(&lm_tags_lock);
  map_region((uintptr_t)region, false);
  if (bytes < LM_REGION_BYTES) change_short(short_entry((uintptr_t)region, bytes), 0);
  lm_tags_clear((uintptr_t)region, LM_REGION_BYTES);
  lm_lock_free(&lm_tags_lock);
  lm_provider_release(region->provider, region, bytes);
}
