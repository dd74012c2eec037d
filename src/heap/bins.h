/* What the heap's slow paths and its tick do to bins and spans, and how many frees bins take; to be
 * entered before. */
#ifndef LM_HEAP_BINS_H
#define LM_HEAP_BINS_H

#include "heap/heap.h"
#include "heap/inspect.h"
#include "heap/span_life.h"

/* All blocks of a class of up to so many slices may be in its bin. A larger class's bin is bounded:
 * once it is full, blocks go into their spans, which would be kept otherwise. */
#define LM_UNBOUNDED_SLICES 4

/* In a process of more threads than this all bins are bounded: each thread may be about to sleep,
 * and nobody else reaches its bins. */
#define LM_UNBOUNDED_THREADS 4
LM_INLINE bool lm_bins_are_many(void) {
  return lm_load_relaxed(&lm_pool_thread_count) > LM_UNBOUNDED_THREADS;
}

/* Whether all of the heap's bins are bounded, and rooms opened in steps. */
LM_INLINE bool lm_bins_bound_all(const struct lm_heap *heap) {
  return heap->watch.keeps_much || lm_bins_are_many();
}

LM_INLINE size_t lm_bin_slices(const struct lm_heap *heap, size_t class_index) {
  return heap->span_counts[class_index] * lm_classes[class_index].slice_count;
}

LM_INLINE bool lm_bin_is_bounded(const struct lm_heap *heap, size_t class_index) {
  return lm_bin_slices(heap, class_index) > LM_UNBOUNDED_SLICES || lm_bins_bound_all(heap);
}

/* A negative room: -1 says that it has just been used up, less that blocks go into their spans. */
#define LM_NO_FREES_LEFT (-2)

/* The room of a bin that malloc has found empty, or that is full and not bounded. In a heap that
 * nobody else reaches, and that may be about to rest, it is opened in steps, each time by as much
 * as it was, so that the heap notices soon what is freed; and the next time one step less than it
 * was needed. */
int16_t lm_bin_open_room(struct lm_heap *heap, size_t class_index);
/* Opens a bounded bin's further; false if there is no more. */
bool lm_bin_open_further(struct lm_heap *heap, size_t class_index);

/* So much room has a bin that is not bounded: who finds it full looks at the clock, and opens it
 * anew. */
#define LM_FREES_PER_LOOK 256

/* The class's current span, if it has free blocks, joins the usable ones, where holes are made. */
void lm_bin_retire_current(struct lm_heap *heap, size_t class_index);

/* The class's bin and reserve are empty. */
LM_INLINE void lm_bin_end_guests(struct lm_heap *heap, size_t class_index) {
  heap->guests_left[class_index] = 0;
  heap->has_guests[class_index] = false;
  lm_heap_forget_sum(heap, class_index);
}

/* Makes what is in the class's bin its reserve; there is none. */
void lm_bin_store_reserve(struct lm_heap *heap, size_t class_index);
/* The same from a tick, if there is none or it can be given away. */
void lm_bin_age(struct lm_heap *heap, size_t class_index);

/* A block of the class's reserve, which there is: it becomes the bin, which is empty, or a part of
 * it does if a tick has seen it and it is not of guests alone. While blocks of the class are being
 * freed in bulk, there is still no room. */
void *lm_bin_take_reserve(struct lm_heap *heap, size_t class_index);

/* Lets the class's reserve be put back into its spans, some blocks in each call, and then, if it
 * has no room, the bin. */
void lm_bin_start_draining(struct lm_heap *heap, size_t class_index);

/* Puts up to `most` blocks of such bins back. Each costs a cache miss or two; no call should pay
 * for a bin of thousands. More at a time while all may be freed before long, and in a tick, which
 * not many calls have. */
void lm_bins_drain(struct lm_heap *heap, size_t most);
#define LM_DRAINED_BY_CALL 4
#define LM_DRAINED_FAST 16

/* Puts up to `most` blocks of bins and reserves back; in a visit, which does not reach bins, of
 * reserves. Returns whether there are more. */
bool lm_bins_empty(struct lm_heap *heap, size_t most);

/* The same in up to `steps` steps of some blocks, as far as the effort does, which it takes from.
 * Returns whether there are more. */
bool lm_bins_empty_within(struct lm_heap *heap, size_t steps, size_t *effort);

/* The span's used_count has fallen to look_at_count or below. Returns whether it has ended. */
bool lm_heap_look_at_fallen(struct lm_heap *heap, struct lm_span *span);

/* Frees a block onto the list of its span. */
LM_INLINE void lm_span_put(struct lm_span *span, size_t class_index, struct lm_block *block) {
  lm_inspect_given_own(span, class_index, block, span->free_list, NULL);
  lm_block_link(block, span->free_list);
  span->free_list = block;
  span->used_count--;
}

/* The same, and what follows from it. Returns whether the span has ended. */
LM_INLINE bool lm_heap_give_to_span(struct lm_heap *heap, size_t class_index,
                                    struct lm_block *block) {
  struct lm_span *span = lm_span_of_own(block);
  lm_span_put(span, class_index, block);
  return LM_UNLIKELY(span->used_count == span->look_at_count) && lm_heap_look_at_fallen(heap, span);
}

/* An empty span of the heap's, on no list, is no longer counted as its own. */
void lm_heap_drop_span(struct lm_heap *heap, struct lm_span *span);

#endif
