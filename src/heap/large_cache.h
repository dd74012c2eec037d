/* Large blocks that the heap's thread has freed last, for a program that takes and frees such of
 * the same lengths again and again: it gets them without the pool's lock, and without a search.
 *
 * A heap caches while most of the large blocks that its thread takes are as long as one of those
 * that it freed last; until then it only remembers their lengths. What it has taken and what it
 * caches are never more than they were at most since the last tick: before it takes a block that
 * would change that, cached ones go back. So do those that have not been needed from one tick to
 * the next. */
#ifndef LM_HEAP_LARGE_CACHE_H
#define LM_HEAP_LARGE_CACHE_H

#include "heap/heap.h"

/* A cached block of `page_count` OS pages or up to an eighth more, aligned to `alignment`, a power
 * of two, its contents what they were. NULL if there is none: then the caller takes one of the
 * pool's. Looks at the clock if it is time. */
void *lm_large_cache_take(struct lm_heap *heap, size_t page_count, size_t alignment);

/* Caches a block that the program has. False, with the block as it was, if it is to go to its pool,
 * or if none begins there. */
bool lm_large_cache_give(struct lm_heap *heap, void *block);

/* What is cached, in OS pages. */
LM_INLINE size_t lm_large_cache_pages(const struct lm_heap *heap) {
  return heap->large_cache.page_count;
}

/* What the clock asks for: what has not been needed since the last tick is to go back. */
void lm_large_cache_tick(struct lm_heap *heap);

/* All is to go back, and what was freed is forgotten. */
void lm_large_cache_retire(struct lm_heap *heap);

/* Gives what is to go back to the pool, as far as the effort does, which it takes from. False if
 * there is more. */
bool lm_large_cache_release(struct lm_heap *heap, size_t *effort);

/* Gives all back to the pool, and forgets what was freed. */
void lm_large_cache_trim(struct lm_heap *heap);

#endif
