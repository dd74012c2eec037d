/* What the heap's slow paths and its tick both do to bins and spans; to be entered before. */
#ifndef LM_HEAP_BINS_H
#define LM_HEAP_BINS_H

#include "heap/heap.h"

/* Frees are counted in a class of more slices than this: uncounted ones stay in the bin and keep
 * all its spans. */
#define LM_UNCOUNTED_SLICES 4

/* In a process of more threads than this all classes are counted: each thread may be about to
 * sleep, and nobody else reaches its bins. */
#define LM_UNCOUNTED_THREADS 4
LM_INLINE bool lm_bins_are_many(void) {
  return lm_load_relaxed(&lm_pool_thread_count) > LM_UNCOUNTED_THREADS;
}

/* Counts frees of the class from here on, if it has spans. */
void lm_bin_count_frees(struct lm_heap *heap, size_t class_index);

/* Guests that a bin takes each time that malloc has found it empty. */
#define LM_GUESTS_PER_REFILL 32

/* Whether there may be some in the bin or in the reserve. */
LM_INLINE bool lm_bin_has_guests(const struct lm_heap *heap, size_t class_index) {
  uint8_t left = heap->guests_left[class_index];
  return left != 0 && left != LM_GUESTS_PER_REFILL + 1;
}

/* The class's bin and reserve are empty. */
LM_INLINE void lm_bin_end_guests(struct lm_heap *heap, size_t class_index) {
  heap->guests_left[class_index] = 0;
  lm_heap_forget_sum(heap, class_index);
}

/* Moves the class's reserve, if there is one, into its bin, which is empty. */
LM_INLINE void lm_bin_load_reserve(struct lm_heap *heap, size_t class_index) {
  if (heap->reserves[class_index] == NULL) return;
  heap->bins[class_index] = heap->reserves[class_index];
  heap->reserves[class_index] = NULL;
  lm_heap_forget_sum(heap, class_index);
}

/* Makes what is in the class's bin its reserve; there is none. */
LM_INLINE void lm_bin_store_reserve(struct lm_heap *heap, size_t class_index) {
  if (heap->bins[class_index] == LM_NO_BLOCK) return;
  heap->reserves[class_index] = heap->bins[class_index];
  heap->bins[class_index] = LM_NO_BLOCK;
  lm_heap_forget_sum(heap, class_index);
}

/* Lets a bin be put back into its spans, some blocks in each call. */
void lm_bin_start_draining(struct lm_heap *heap, size_t class_index);

/* Puts up to `most` blocks of such bins back. Each costs a cache miss or two; no call should pay
 * for a bin of thousands. More at a time while all may be freed before long, and in a tick, which
 * not many calls have. */
void lm_bins_drain(struct lm_heap *heap, size_t most);
#define LM_DRAINED_BY_CALL 4
#define LM_DRAINED_FAST 16

/* An empty span of the heap's, on no list, is no longer counted as its own. */
void lm_heap_drop_span(struct lm_heap *heap, struct lm_span *span);

#endif
