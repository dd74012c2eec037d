#include "large/large.h"

#include <string.h>

#include <errno.h>

#include "config/options.h"
#include "large/owned.h"
#include "os/panic.h"
#include "pages/huge.h"
#include "pages/pool_take.h"

/* From this on a block that cannot grow in place may move by page tables and not by copying. */
#define MOVE_MIN_BYTES (512 * LM_KIB)
/* A block that has to move as it grows, to this or more, becomes a mapping, where that grows by
 * page tables alone; and a fresh one may have a mapping that was kept. */
#define MAPPING_MIN_BYTES (LM_OS_GROWS_MAPPINGS ? 4 * LM_MIB : LM_LARGE_MAX_BYTES + 1)

/* Whether a mapping is better for a block than a place in a region, if there is one or the block
 * grows. Up to 32 MiB not if the pool has pages for it: those of a mapping are all fresh, and cost
 * a fault each. */
static bool is_for_mapping(struct lm_pool *pool, size_t size) {
  if (size < MAPPING_MIN_BYTES) return false;
  return size > LM_LARGE_MAX_BYTES ||
         lm_load_relaxed(&pool->dirty_page_count) < lm_pages_of(size) / 2;
}

void *lm_large_take(struct lm_pool *pool, size_t size, size_t alignment, bool clear) {
  lm_assert(alignment >= lm_os.page_bytes && (alignment & (alignment - 1)) == 0);
  if (size > LM_LARGE_MAX_BYTES || alignment > LM_LARGE_MAX_BYTES)
    return lm_huge_take(pool, size, alignment, clear);
  bool zero;
  size_t page_count = lm_pages_of(lm_max(size, 1));
  void *block = NULL;
  if (is_for_mapping(pool, size) && !clear) block = lm_huge_take_kept(pool, size, alignment);
  if (block == NULL) block = lm_pool_take_large(pool, page_count, alignment, &zero);
  /* Where no whole region is to be had any more, there may be room for one block. */
  if (block == NULL) return lm_huge_take(pool, lm_max(size, 1), alignment, clear);
  if (clear && !zero) lm_pool_clear_large(block, page_count);
  return block;
}

void *lm_middle_take(struct lm_cache *cache, size_t size, bool clear) {
  size_t class_index = lm_middle_class(size);
  lm_assert(lm_is_middle(size) && lm_sizeclass_bytes(class_index) >= size);
  void *block = lm_cache_pop(cache, class_index);
  if (block == NULL) {
    block = lm_cache_refill_middle(cache, class_index);
    lm_tick_event(cache);
  }
  if (block == NULL)
    return lm_large_take(cache->central->pool, lm_sizeclass_bytes(class_index), lm_os.page_bytes,
                         clear);
  lm_middle_begin(block, class_index);
  return clear ? memset(block, 0, size) : block;
}

size_t lm_large_usable_bytes(const void *address) {
  if (lm_region_holds((uintptr_t)address))
    return lm_region_live_pages(address) << lm_os.page_shift;
  return lm_huge_usable_bytes(address);
}

bool lm_large_give(struct lm_cache *cache, void *address) {
  struct lm_owned *owned = lm_owned_remove(address); /* before others may be given the address */
  if (LM_UNLIKELY(owned != NULL)) lm_owned_end(owned);
  if (!lm_region_holds((uintptr_t)address)) return lm_huge_give(address);
  bool may_cache = owned == NULL && !lm_cache_is_empty(cache);
  if (LM_LIKELY(may_cache) && lm_middle_give(cache, address)) return true;
  if (!lm_pool_give_large(address)) return false;
  if (!lm_cache_is_empty(cache)) lm_tick_event(cache);
  return true;
}

bool lm_large_is_free(const void *address) {
  if (lm_tag_is_small(lm_load_relaxed(&lm_span_record_of(address)->tag))) return false;
  if (lm_load_relaxed(lm_region_block_entry(address)) & LM_BLOCK_CACHED) return true;
  return lm_pool_is_free(address);
}

/* Pages neither come from a provider's memory nor go there. */
static bool may_move_pages(struct lm_pool *pool, const void *block) {
  return lm_region_of(block)->provider == NULL && lm_load_acquire(&pool->provider) == NULL;
}

/* A move may split the mappings that it takes pages from and puts them into, and they never become
 * one again. The system has a limit for a process (vm.max_map_count, 65,530 by default), which the
 * program needs for other things. A move ends what split its target before: so a region comes to so
 * many mappings, about. A process with few regions moves pages as it likes; one with more may make
 * so many moves, and copies from then on. */
#define MAPS_MOST 4096
#define MAPS_PER_MOVE 4
#define MAPS_PER_REGION (2 * LM_REGION_BYTES / MOVE_MIN_BYTES)

static bool may_split_maps(void) {
  /* Written and read by any thread that moves pages, as a guess only. */
  static _Atomic(uint32_t) moves_left = MAPS_MOST / MAPS_PER_MOVE;
  size_t region_count = 0;
  for (unsigned i = 0; i < lm_pool_count; i++)
    region_count += lm_load_relaxed(&lm_pools[i].region_count);
  if (region_count <= MAPS_MOST / MAPS_PER_REGION) return true;
  uint32_t left = lm_load_relaxed(&moves_left);
  if (left != 0) lm_store_relaxed(&moves_left, left - 1);
  return left != 0;
}

/* Whether to copy so many bytes to a fresh block rather than move their pages there. A page that
 * moves costs little, but the one in its place is lost, and a fault to get back. */
static bool is_copied(const void *fresh, size_t bytes) {
  if (bytes < MOVE_MIN_BYTES) return true;
  size_t page_count = lm_pages_of(bytes);
  return lm_region_holds((uintptr_t)fresh) &&
         lm_pool_dirty_pages(fresh, page_count) > page_count / 2;
}

/* A mapping instead of a block in a region, with its pages or a copy of them. */
static void *move_to_mapping(struct lm_pool *pool, void *block, size_t old_bytes, size_t size) {
  if (old_bytes >= MOVE_MIN_BYTES && may_split_maps()) {
    void *moved = lm_huge_take_pages(pool, block, old_bytes, size);
    if (moved != NULL) {
      lm_pool_forget_large(block);
      return moved;
    }
  }
  void *moved = lm_huge_take(pool, size, lm_os.page_bytes, false);
  if (moved == NULL) return NULL;
  memcpy(moved, block, old_bytes);
  lm_pool_give_large(block);
  return moved;
}

/* A place for a block that grows. One that grows by up to a half is likely to do so again, and does
 * it in place if there is a gap above it. */
static void *take_grown(struct lm_pool *pool, size_t old_bytes, size_t size) {
  size_t page_count = lm_pages_of(size), growth = page_count - lm_pages_of(old_bytes);
  if (size <= LM_LARGE_MAX_BYTES && growth <= lm_pages_of(old_bytes) / 2 + 1) {
    void *block = lm_pool_take_growing(pool, page_count, page_count / 2);
    if (block != NULL) return block;
  }
  return lm_large_take(pool, size, lm_os.page_bytes, false);
}

/* A block in a region becomes a larger one; NULL if its pages cannot move. */
static void *move_block(struct lm_pool *pool, void *block, size_t old_bytes, size_t size) {
  lm_assert(old_bytes <= size);
  if (!may_move_pages(pool, block)) return NULL;
  if (is_for_mapping(pool, size)) return move_to_mapping(pool, block, old_bytes, size);
  void *moved = take_grown(pool, old_bytes, size);
  if (moved == NULL) return NULL;
  if (!is_copied(moved, old_bytes)) {
    /* If there is no provider now, there was none for that, either: none is taken away. */
    bool may_move = may_move_pages(pool, block) && may_split_maps();
    int error = may_move ? lm_os_move_pages(block, moved, old_bytes) : ENOSYS;
    if (error == 0) {
      lm_pool_forget_large(block);
      return moved;
    }
    if (error != ENOSYS) return NULL; /* nothing may be left where the pages were to go */
  }
  memcpy(moved, block, old_bytes);
  lm_pool_give_large(block);
  return moved;
}

static void *resize_or_move(struct lm_pool *pool, void *block, size_t size) {
  if (!lm_region_holds((uintptr_t)block)) {
    bool stays = size > lm_min(LM_LARGE_MAX_BYTES, lm_huge_usable_bytes(block)) / 2;
    return stays ? lm_huge_resize(block, size) : NULL;
  }
  size_t old_bytes = lm_large_usable_bytes(block);
  size_t bytes = lm_is_middle(size) ? lm_sizeclass_bytes(lm_middle_class(size)) : size;
  if (size <= LM_LARGE_MAX_BYTES && lm_pool_resize_large(block, lm_pages_of(bytes))) return block;
  if (size < old_bytes || old_bytes <= LM_MIDDLE_MAX_BYTES) return NULL;
  return move_block(pool, block, old_bytes, size);
}

void *lm_large_resize(struct lm_pool *pool, void *block, size_t size, bool by_heap) {
  struct lm_owned *owned = lm_owned_remove(block); /* as for huge blocks: the address may change */
  void *moved = resize_or_move(pool, block, size);
  if (LM_LIKELY(owned == NULL)) return moved;
  if (moved != NULL && moved != block && !by_heap) lm_owned_end(owned);
  else lm_owned_insert(owned, moved != NULL ? moved : block);
  return moved;
}
