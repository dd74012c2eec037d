/* The calls behind the public functions, without their argument checks: `raw` because the
 * checking build wraps them (checking.h), where the fast build uses them as they are. */
#ifndef LM_API_ALLOCATE_H
#define LM_API_ALLOCATE_H

#include "api/this_cache.h"

/* Sets errno if it returns NULL. */
void *lm_malloc_slow(size_t size);
/* `caller` is named if the address is no block. */
void lm_free_slow(void *block, size_t tag, void *caller);
/* Ends the program if the block at `address` is smaller; with mismatch=strict also if it cannot
 * have been asked for with so little. */
void lm_compare_size(const void *address, size_t size, bool aligned, void *caller);
/* That, and free. */
void lm_free_sized_slow(void *address, size_t size, bool aligned, void *caller);
/* The block that the list of its tag begins with is freed again, as it seems. */
void lm_free_twice(void *block, size_t tag, void *caller);

/* malloc, from the first instruction to the last for all but the first call of a list. */
LM_INLINE void *lm_raw_malloc(size_t size) {
  struct lm_cache *cache = LM_THREAD(lm_malloc_cache);
  if (LM_LIKELY(size <= LM_SMALL_MAX_BYTES)) {
    size_t class_index = (size + LM_GRANULE_BYTES - 1) / LM_GRANULE_BYTES;
    struct lm_block *block = cache->lists[class_index];
    LM_IN_RESULT_REGISTER(block);
    if (LM_LIKELY(lm_is_block(block))) {
      cache->lists[class_index] = lm_block_next(block);
      cache->tallies[class_index] += LM_TALLY_OF_MALLOC;
      return block;
    }
  }
  return lm_malloc_slow(size);
}

/* free: one load of a tag says in which list the block goes. Lists take so many, and those of tags
 * that are no small class's take none: they begin with what is of no list, or a middle class's. */
LM_INLINE void lm_free_tagged(void *address, size_t tag) {
  struct lm_cache *cache = LM_THREAD(lm_this_cache);
  struct lm_block *block = address, *first = cache->lists[tag];
  __asm__("" : "+r"(first)); /* or compilers load it twice */
  if (LM_UNLIKELY(first == block)) lm_free_twice(block, tag, LM_CALLER());
  else if (LM_UNLIKELY(!lm_tally_free(&cache->tallies[tag])))
    lm_free_slow(block, tag, LM_CALLER());
  else {
    lm_block_link(block, first);
    cache->lists[tag] = block;
  }
}

LM_INLINE void lm_raw_free(void *address) { lm_free_tagged(address, lm_tags_read(address)); }


/* The same for a block whose size the program tells; `aligned` says that it was asked for with an
 * alignment. */
LM_INLINE void lm_raw_free_sized(void *address, size_t size, bool aligned) {
  uint32_t tag = lm_tags_read(address);
  const struct lm_class *class = &lm_classes[tag & LM_TAG_CLASS_MASK];
  if (LM_UNLIKELY(class->block_bytes - size > class->slack))
    lm_free_sized_slow(address, size, aligned, LM_CALLER());
  else lm_free_tagged(address, tag);
}

/* Zero memory. */
void *lm_raw_calloc(size_t size);
/* `alignment` is a power of two. */
void *lm_raw_memalign(size_t alignment, size_t size);
/* `size` is not 0; NULL, with the block kept, if out of memory. An address that is no block is
 * dealt with as foreign, and `caller` named. */
void *lm_raw_realloc(void *block, size_t size, void *caller);

/* Usable bytes if `address` is a block of loam's, else 0. In the fast build an address inside a
 * small block counts as one. */
size_t lm_raw_usable_bytes(const void *address);

/* The tag of any address, with or without a table of tags. */
uint32_t lm_tag_of(const void *address);

/* The program has these bytes from here on: fills them, if it does. */
void lm_fill_new(void *start, size_t bytes);

#endif
