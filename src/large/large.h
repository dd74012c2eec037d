/* Blocks above the size classes of spans, rounded up to OS pages.
 *
 * Up to LM_LARGE_MAX_BYTES they are runs of pages in a region, which stay with the process for a
 * while when freed; middle ones, up to LM_MIDDLE_MAX_BYTES, also wait in the lists of caches and
 * depots. Above, each is a mapping of its own ("huge"), given back at once.
 *
 * (Rejected: parts of regions from which each thread cuts its middle blocks by itself. It needs no
 * lock, but what is free in them serves no other thread.) */
#ifndef LM_LARGE_LARGE_H
#define LM_LARGE_LARGE_H

#include "base/compiler.h"
#include "os/panic.h"
#include "pages/pool.h"
#include "thread/cache.h"
#include "thread/lists.h"
#include "thread/tick.h"

#define LM_LARGE_MAX_BYTES (LM_REGION_BYTES / 2)

/* A block of at least `size` bytes, aligned to `alignment`, a power of two, of the pool's or of the
 * system's; NULL if out of memory. With `clear` it reads as zero. */
void *lm_large_take(struct lm_pool *pool, size_t size, size_t alignment, bool clear);

/* The same of the thread's cache, of a size up to LM_MIDDLE_MAX_BYTES. */
void *lm_middle_take(struct lm_cache *cache, size_t size, bool clear);
/* The class in whose list a block of so many bytes, a middle one, would be. */
LM_INLINE size_t lm_middle_class(size_t size) {
  return lm_middle_classes[((size - 1) >> lm_os.page_shift) + 1];
}
/* Whether a size is a middle block's. */
LM_INLINE bool lm_is_middle(size_t size) {
  return size > lm_classed_max_bytes && size <= LM_MIDDLE_MAX_BYTES;
}
/* A free middle block that has been taken off a list is the program's from here on. */
LM_INLINE void *lm_middle_begin(void *block, size_t class_index) {
  lm_assert(lm_load_relaxed(lm_region_block_entry(block)) ==
            (LM_BLOCK_CACHED | lm_middle_pages[class_index]));
  lm_region_set_block_pages(block, lm_middle_pages[class_index]);
  return block;
}

/* Frees the block that begins at `address`, which is in a slice where large blocks begin, if it is
 * a middle one, as long as its class's are, and nobody wants to be told. False, with nothing done,
 * if not. The cache is a thread's. */
LM_INLINE bool lm_middle_give(struct lm_cache *cache, void *address);

/* Usable bytes of the block that begins at `address`, which may be any address whose tag is not a
 * span's; 0 if no block begins there. */
size_t lm_large_usable_bytes(const void *address);

/* Frees the block that begins at `address`; false if none does. The cache may have it, unless it is
 * the empty one. */
bool lm_large_give(struct lm_cache *cache, void *address);

/* Whether nobody has the memory at `address`, which is in a region; of addresses in spans, false.
 * Others may take or free it meanwhile. */
bool lm_large_is_free(const void *address);

/* Changes the block's size, in place or by moving its pages; NULL, with nothing changed, if that
 * is not possible and the contents would have to be copied. What it becomes is the pool's. A
 * first-class heap's block stays with that if it is resized `by_heap`, and else leaves it. */
void *lm_large_resize(struct lm_pool *pool, void *block, size_t size, bool by_heap);

LM_INLINE bool lm_middle_give(struct lm_cache *cache, void *address) {
  struct lm_block *block = address;
  if (LM_UNLIKELY(((uintptr_t)address & (lm_os.page_bytes - 1)) != 0)) return false;
  _Atomic(uint32_t) *entry = lm_region_block_entry(block);
  uint32_t page_count = lm_load_relaxed(entry);
  if (page_count > LM_MIDDLE_MAX_PAGES) return false; /* or it is not live */
  size_t class_index = lm_middle_classes[page_count];
  if (lm_middle_pages[class_index] != page_count || class_index == 0) return false;
  lm_store_relaxed(entry, page_count | LM_BLOCK_CACHED);
  if (LM_UNLIKELY(!lm_cache_free(cache, class_index, block))) {
    lm_cache_overflow(cache, class_index, block);
    lm_tick_event(cache);
  }
  return true;
}

#endif
