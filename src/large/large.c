#include "large/large.h"

#include <string.h>

#include <errno.h>

#include "config/options.h"
#include "heap/large_cache.h"
#include "heap/middle.h"
#include "heap/watch.h"
#include "large/huge.h"
#include "large/owned.h"

/* From this on a block that cannot grow in place may move by page tables and not by copying. */
#define MOVE_MIN_BYTES (512 * LM_KIB)
/* A block that has to move as it grows, to this or more, becomes a mapping, where that grows by
 * page tables alone; and a fresh one may have a mapping that was kept. */
#define MAPPING_MIN_BYTES (LM_OS_GROWS_MAPPINGS ? 4 * LM_MIB : LM_LARGE_MAX_BYTES + 1)

/* Whether a mapping is better for a block than a place in a region, if there is one or the block
 * grows. Up to 32 MiB not if the pool has pages for it: those of a mapping are all fresh, and cost
 * a fault each. */
static bool is_for_mapping(const struct lm_heap *heap, size_t size) {
  if (size < MAPPING_MIN_BYTES) return false;
  return size > LM_LARGE_MAX_BYTES ||
         lm_load_relaxed(&heap->pool->dirty_page_count) < lm_pages_of(size) / 2;
}

void *lm_large_take(struct lm_heap *heap, size_t size, size_t alignment, bool clear) {
  if (size > LM_LARGE_MAX_BYTES || alignment > LM_LARGE_MAX_BYTES)
    return lm_huge_take(heap->pool, size, alignment, clear);
  bool zero;
  size_t page_count = lm_pages_of(lm_max(size, 1));
  bool has_heap = !lm_heap_is_empty(heap);
  if (size <= LM_MIDDLE_MAX_BYTES && alignment <= lm_os.page_bytes && has_heap) {
    void *block = lm_middle_take(heap, page_count, clear);
    if (LM_LIKELY(block != NULL)) return block;
  } else if (has_heap) {
    void *block = lm_large_cache_take(heap, page_count, alignment);
    if (block != NULL) return clear ? memset(block, 0, page_count << lm_os.page_shift) : block;
  }
  void *block = NULL;
  if (is_for_mapping(heap, size) && !clear) block = lm_huge_take_kept(heap->pool, size, alignment);
  if (block == NULL) block = lm_pool_take_large(heap->pool, page_count, alignment, &zero);
  /* Where no whole region is to be had any more, there may be room for one block. */
  if (block == NULL) return lm_huge_take(heap->pool, lm_max(size, 1), alignment, clear);
  if (clear && !zero) lm_pool_clear_large(block, page_count);
  return block;
}

size_t lm_large_usable_bytes(const void *address) {
  if (lm_region_holds((uintptr_t)address))
    return lm_region_live_pages(address) << lm_os.page_shift;
  return lm_huge_usable_bytes(address);
}

bool lm_large_give(struct lm_heap *heap, void *address) {
  struct lm_owned *owned = lm_owned_remove(address); /* before others may be given the address */
  if (LM_UNLIKELY(owned != NULL)) lm_owned_end(owned);
  if (!lm_region_holds((uintptr_t)address)) return lm_huge_give(address);
  if (lm_heap_is_empty(heap)) return lm_pool_give_large(address);
  if (owned == NULL && lm_large_cache_give(heap, address)) return true;
  if (!lm_pool_give_large(address)) return false;
  lm_watch_large(heap);
  return true;
}

/* The tag of a block in a region, table or not. */
static uint32_t tag_of_block(const void *block) {
  return lm_load_relaxed(&lm_span_record_of(block)->tag);
}

static bool is_middle(const void *block) {
  uint32_t tag = tag_of_block(block);
  return tag >> LM_TAG_OWNER_SHIFT >= LM_OWNER_ORPHAN &&
         (tag & LM_TAG_CLASS_MASK) == LM_CLASS_MIDDLE;
}

bool lm_large_is_free(const void *address) {
  if (tag_of_block(address) == LM_TAG_SPARE) return true;
  if (lm_load_relaxed(lm_region_block_entry(address)) & LM_BLOCK_ON_ITS_WAY) return true;
  return is_middle(address) ? lm_chunk_is_free(address) : lm_pool_is_free(address);
}

/* Pages neither come from a provider's memory nor go there. How many mappings moves have made is
 * read from a file. */
static bool may_move_pages(const struct lm_heap *heap, const void *block) {
  return LM_OPTION(system_calls) == LM_SYSTEM_CALLS_ALL &&
         lm_region_of(block)->provider == NULL && lm_load_acquire(&heap->pool->provider) == NULL;
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
static void *move_to_mapping(struct lm_heap *heap, void *block, size_t old_bytes, size_t size) {
  if (old_bytes >= MOVE_MIN_BYTES) {
    void *moved = lm_huge_take_pages(heap->pool, block, old_bytes, size);
    if (moved != NULL) {
      lm_pool_forget_large(block);
      return moved;
    }
  }
  void *moved = lm_huge_take(heap->pool, size, lm_os.page_bytes, false);
  if (moved == NULL) return NULL;
  memcpy(moved, block, old_bytes);
  lm_pool_give_large(block);
  return moved;
}

/* A place for a block that grows. One that grows by up to a half is likely to do so again, and does
 * it in place if there is a gap above it. */
static void *take_grown(struct lm_heap *heap, size_t old_bytes, size_t size) {
  size_t page_count = lm_pages_of(size), growth = page_count - lm_pages_of(old_bytes);
  if (size <= LM_LARGE_MAX_BYTES && growth <= lm_pages_of(old_bytes) / 2 + 1) {
    if (!lm_heap_is_empty(heap)) lm_heap_tick_often(heap);
    void *block = lm_pool_take_growing(heap->pool, page_count, page_count / 2);
    if (block != NULL) return block;
  }
  return lm_large_take(heap, size, lm_os.page_bytes, false);
}

/* A block in a region becomes a larger one; NULL if its pages cannot move. */
static void *move_block(struct lm_heap *heap, void *block, size_t old_bytes, size_t size) {
  if (!may_move_pages(heap, block)) return NULL;
  if (is_for_mapping(heap, size)) return move_to_mapping(heap, block, old_bytes, size);
  void *moved = take_grown(heap, old_bytes, size);
  if (moved == NULL) return NULL;
  if (!is_copied(moved, old_bytes)) {
    /* If there is no provider now, there was none for that, either: none is taken away. */
    bool may_move = may_move_pages(heap, block);
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

/* A middle block; NULL if its contents would have to be copied. */
static void *resize_middle(struct lm_heap *heap, void *block, size_t size) {
  bool own = (tag_of_block(block) ^ heap->tag) < LM_TAG_OWN_LIMIT;
  if (own && size <= LM_MIDDLE_MAX_BYTES && lm_middle_resize(heap, block, lm_pages_of(size)))
    return block;
  size_t old_bytes = lm_large_usable_bytes(block);
  return size <= old_bytes && size > old_bytes / 2 ? block : NULL;
}

static void *resize_or_move(struct lm_heap *heap, void *block, size_t size) {
  if (!lm_region_holds((uintptr_t)block)) {
    bool stays = size > lm_min(LM_LARGE_MAX_BYTES, lm_huge_usable_bytes(block)) / 2;
    return stays ? lm_huge_resize(block, size) : NULL;
  }
  if (is_middle(block)) return resize_middle(heap, block, size);
  size_t old_bytes = lm_large_usable_bytes(block);
  if (size <= LM_LARGE_MAX_BYTES && lm_pool_resize_large(block, lm_pages_of(size))) return block;
  if (size < old_bytes || size <= LM_MIDDLE_MAX_BYTES) return NULL;
  return move_block(heap, block, old_bytes, size);
}

/* A first-class heap's block that realloc moves leaves it, whether it is copied or its pages move;
 * one that its heap moves stays. */
static bool leaves_owner(const struct lm_heap *heap, const void *block, const void *moved) {
  bool by_its_heap = lm_tag_is_shared(heap->tag) && !lm_heap_is_empty(heap);
  return moved != NULL && moved != block && !by_its_heap;
}

void *lm_large_resize(struct lm_heap *heap, void *block, size_t size) {
  struct lm_owned *owned = lm_owned_remove(block); /* as for huge blocks: the address may change */
  void *moved = resize_or_move(heap, block, size);
  if (LM_LIKELY(owned == NULL)) return moved;
  if (leaves_owner(heap, block, moved)) lm_owned_end(owned);
  else lm_owned_insert(owned, moved != NULL ? moved : block);
  return moved;
}
