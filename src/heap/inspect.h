/* Looks for what a program has done to free blocks, where that costs next to nothing: a block is
 * looked at when it goes onto its span's list, the first ones that a thread frees more closely, and
 * some of a heap's free ones by the clock, when its thread ends, and when the process does. */
#ifndef LM_HEAP_INSPECT_H
#define LM_HEAP_INSPECT_H

#include "heap/heap.h"
#include "heap/span_life.h"
#include "os/misuse.h"

/* The first frees of a heap's thread that are looked at closely. */
#define LM_INSPECT_FREES 256

/* A block of the span, which it is in, is being freed: ends the program if none begins there, or if
 * the list that it goes onto begins with it. `caller` is NULL if it is not known. */
LM_INLINE void lm_inspect_given(const struct lm_span *span, const struct lm_block *block,
                                const struct lm_block *list, void *caller) {
  if (LM_UNLIKELY(!lm_span_has_block_at(span, block)))
    lm_misuse_not_a_start(block, "free", caller);
  if (LM_UNLIKELY(block == list)) lm_misuse_double_free(block, caller);
}

/* The same by the span's owner. */
LM_INLINE void lm_inspect_given_own(const struct lm_span *span, size_t class_index,
                                    const struct lm_block *block, const struct lm_block *list,
                                    void *caller) {
  if (LM_UNLIKELY(!lm_span_has_carved_at(span, class_index, block)))
    lm_misuse_not_a_start(block, "free", caller);
  if (LM_UNLIKELY(block == list)) lm_misuse_double_free(block, caller);
}

/* The same for a block that goes onto a bin of the heap's, of which the first `most` blocks are
 * compared with it. */
void lm_inspect_freed(const struct lm_heap *heap, const struct lm_block *block, size_t class_index,
                      size_t most, void *caller);

/* Looks at up to `most` of the heap's free blocks, from class `first_class` on, and leaves a mark
 * in each: for links that lead nowhere, blocks that were freed twice, and what is no block. */
void lm_inspect_heap(struct lm_heap *heap, size_t first_class, size_t most);

/* The class's bin is said to be empty: ends the program if it is not, which means that the link in
 * a free block was written over. */
LM_INLINE void lm_inspect_empty_bin(const struct lm_heap *heap, size_t class_index) {
  if (LM_UNLIKELY(heap->bins[class_index] != LM_NO_BLOCK))
    lm_misuse_broken_link(lm_classes[class_index].block_bytes);
}

#endif
