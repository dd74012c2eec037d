/* Middle blocks: runs of OS pages in chunks of the heap's own, taken and freed without a lock.
 *
 * A block comes from the chunk whose longest free run is the shortest that will do, so that the
 * fuller chunks are filled first and the emptier ones become empty. A heap keeps one empty chunk.
 * In front of that stand the blocks freed last, by their length.
 *
 * Free dirty pages are purged when they have been free for a half to the whole of
 * lm_options.purge_delay_ms, and early under the same rules as a pool's (pages/pool.h), with a
 * smaller credit. */
#ifndef LM_HEAP_MIDDLE_H
#define LM_HEAP_MIDDLE_H

#include "heap/heap.h"
#include "pages/chunk.h"

#define LM_MIDDLE_MAX_BYTES (256 * LM_KIB)

/* A cached block may be longer than what is asked for by this part. */
#define LM_MIDDLE_LONGER_FRACTION 8

/* The block of this length that was cached last; there is one. */
LM_INLINE void *lm_middle_pop(struct lm_middle *middle, size_t length) {
  struct lm_block *block = middle->cached[length];
  middle->cached[length] = block->next;
  middle->cached_count -= length;
  if (block->next == NULL) middle->lengths &= ~((uint64_t)1 << (length - 1));
  return block;
}

/* A cached block of `page_count` pages or up to an eighth more, its contents what they were; NULL
 * if there is none. */
LM_INLINE void *lm_middle_take_cached(struct lm_heap *heap, size_t page_count) {
  uint64_t fitting = heap->middle.lengths >> (page_count - 1);
  if (LM_UNLIKELY(fitting == 0)) return NULL;
  size_t more = (size_t)__builtin_ctzll(fitting), length = page_count + more;
  if (LM_UNLIKELY(more > page_count / LM_MIDDLE_LONGER_FRACTION)) return NULL;
  void *block = lm_middle_pop(&heap->middle, length);
  lm_region_set_block_pages(block, length);
  return block;
}

/* A block of `page_count` pages, with `clear` all zero; NULL if out of memory. */
void *lm_middle_take(struct lm_heap *heap, size_t page_count, bool clear);

/* Frees a block of the heap's own. False, with nothing done, if none begins there. */
bool lm_middle_give(struct lm_heap *heap, void *block);

/* Puts `count` blocks of own chunks back, linked from `first`. */
void lm_middle_put_back(struct lm_heap *heap, struct lm_block *first, size_t count);

/* Changes the length of a block of the heap's own where it stands; false if that is not
 * possible. */
bool lm_middle_resize(struct lm_heap *heap, void *block, size_t page_count);

/* Marks a block of somebody else's as on its way back. False if none begins there. */
bool lm_middle_send(void *block);

/* What the clock asks for: purges what has been free for a while, and adds to the credit. */
void lm_middle_tick(struct lm_heap *heap, uint64_t elapsed_ms);

/* Purges all that is free, and gives empty chunks back. */
void lm_middle_trim(struct lm_heap *heap);

/* A new chunk, or one that was an orphan, is the heap's from here on. */
void lm_middle_own(struct lm_heap *heap, struct lm_span *span);

/* Takes any chunk out of the heap; NULL if it has none. */
struct lm_span *lm_middle_remove(struct lm_heap *heap);

#endif
