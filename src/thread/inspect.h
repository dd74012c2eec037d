/* Looks for what a program has done to free blocks, where that costs next to nothing: a block is
 * looked at when it goes into its span (central/put.c), the first ones that a thread frees
 * more closely, and some of its cache's by the clock, when its thread ends, and when the process
 * does. (Rejected: a bit for each block that the program has, set in malloc and looked at in free.
 * The fast paths have no room for it; the hardened build does it.) */
#ifndef LM_THREAD_INSPECT_H
#define LM_THREAD_INSPECT_H

#include "os/misuse.h"
#include "thread/cache.h"

/* The first frees of a cache's first thread that are looked at closely. */
#define LM_INSPECT_FREES 256

/* A block with the tag of a small class goes onto the class's list, of which the first `most`
 * blocks are compared with it: ends the program if no block begins there, or if it is on the list.
 * Returns how many have been compared. */
size_t lm_inspect_freed(const struct lm_cache *cache, const struct lm_block *block,
                        size_t class_index, size_t most, void *caller);

/* Looks at up to `most` of the cache's free blocks, from class `first_class` on, and leaves a mark
 * in each: for links that lead nowhere, blocks that were freed twice, and what is no block. */
void lm_inspect_cache(struct lm_cache *cache, size_t first_class, size_t most);

/* The class's list is said to be empty: ends the program if it is not, which means that the link in
 * a free block was written over. */
LM_INLINE void lm_inspect_empty_list(const struct lm_cache *cache, size_t class_index) {
  if (LM_UNLIKELY(cache->lists[class_index] != LM_NO_BLOCK))
    lm_misuse_broken_link(lm_sizeclass_bytes(class_index));
}

#endif
