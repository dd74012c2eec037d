/* The large blocks that a heap's thread has freed last, for its next ones of the same length: so
 * that a thread which allocates and frees them all the time takes no lock. They go back to their
 * pools with the heap's tick, and at the thread's end. */
#ifndef LM_HEAP_LARGE_CACHE_H
#define LM_HEAP_LARGE_CACHE_H

#include "heap/heap.h"

/* A block of exactly so many pages, contents undefined; NULL if there is none. */
void *lm_large_cache_take(struct lm_heap *heap, size_t page_count);

/* Keeps the block; false if it is no large block, or not one to keep. */
bool lm_large_cache_put(struct lm_heap *heap, void *block);

/* Gives all blocks back to their pools. */
void lm_large_cache_flush(struct lm_heap *heap);

#endif
