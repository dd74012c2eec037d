#include "large/large.h"

#include <string.h>

#include <errno.h>

#include "heap/large_cache.h"
#include "large/huge.h"

/* Above this a block that cannot grow in place moves by page tables and not by copying. */
#define MOVE_MIN_BYTES (512 * LM_KIB)

static size_t pages_of(size_t size) {
  return (size + lm_os.page_bytes - 1) >> lm_os.page_shift;
}

void *lm_large_take(struct lm_heap *heap, size_t size, size_t alignment, bool clear) {
  if (size > LM_LARGE_MAX_BYTES || alignment > LM_LARGE_MAX_BYTES)
    return lm_huge_take(size, alignment);
  bool zero;
  size_t page_count = pages_of(lm_max(size, 1));
  void *block = alignment <= lm_os.page_bytes ? lm_large_cache_take(heap, page_count) : NULL;
  if (block != NULL) return clear ? memset(block, 0, size) : block;
  block = lm_pool_take_large(heap->pool, page_count, alignment, &zero);
  /* Where no whole region is to be had any more, there may be room for one block. */
  if (block == NULL) return lm_huge_take(lm_max(size, 1), alignment);
  if (clear && !zero) lm_pool_clear_large(block, page_count);
  return block;
}

size_t lm_large_usable_bytes(const void *address) {
  if (lm_region_holds((uintptr_t)address))
    return lm_pool_large_pages(address) << lm_os.page_shift;
  return lm_huge_usable_bytes(address);
}

bool lm_large_give(struct lm_heap *heap, void *address) {
  if (lm_region_holds((uintptr_t)address))
    return lm_large_cache_put(heap, address) || lm_pool_give_large(address);
  return lm_huge_give(address);
}

/* A block in a region becomes a larger one, its pages moved; NULL if the system cannot. */
static void *move_pages(struct lm_heap *heap, void *block, size_t old_bytes, size_t size) {
  void *moved = lm_large_take(heap, size, lm_os.page_bytes, false);
  if (moved == NULL) return NULL;
  int error = lm_os_move_pages(block, moved, old_bytes);
  if (error == 0) {
    lm_pool_forget_large(block);
    return moved;
  }
  if (error == ENOSYS) lm_large_give(heap, moved);
  return NULL;
}

void *lm_large_resize(struct lm_heap *heap, void *block, size_t size) {
  if (!lm_region_holds((uintptr_t)block)) {
    return size > LM_LARGE_MAX_BYTES / 2 ? lm_huge_resize(block, size) : NULL;
  }
  size_t old_bytes = lm_large_usable_bytes(block);
  if (size <= LM_LARGE_MAX_BYTES && lm_pool_resize_large(block, pages_of(size))) return block;
  if (old_bytes < MOVE_MIN_BYTES || size < old_bytes) return NULL;
  return move_pages(heap, block, old_bytes, size);
}
