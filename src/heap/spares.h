/* Spares: empty spans that a heap keeps for the next time that it needs one, so that a program
 * which frees much and takes it again does not pay for the pool's lock, and, where blocks are few,
 * for carving them anew.
 *
 * Spares are a waste if the program rests after it has freed everything. So there are few, in
 * proportion to what is in use, and as many as the heap has learnt to need (learning.h). What was
 * not needed from one tick to the next goes back, and that much is unlearnt. */
#ifndef LM_HEAP_SPARES_H
#define LM_HEAP_SPARES_H

#include "heap/budget.h"

/* Keeps a span that is empty, on no list and not counted as the heap's any longer; or gives it or
 * another one back to the pool. Returns whether what is used has just fallen to a fraction of what
 * it was. */
bool lm_spares_give(struct lm_heap *heap, struct lm_span *span);

/* A spare of the class, on no list, its blocks all on its free_list; NULL if there is none. */
struct lm_span *lm_spares_take(struct lm_heap *heap, size_t class_index);

/* A spare of any class with so many slices, on no list; NULL if there is none. */
struct lm_span *lm_spares_take_any(struct lm_heap *heap, size_t slice_count);

/* Whether the heap keeps most of its spans, as it has learnt, so that what is freed may stay in
 * bins. */
LM_INLINE bool lm_spares_cover(const struct lm_heap *heap) {
  return heap->spares.learning.learnt_count >= lm_max(1, heap->slice_count / 2) &&
         !lm_budget_exceeded();
}

/* What the clock asks for; and up to `most` spans of it, with each call of lm_heap_tick. */
void lm_spares_tick(struct lm_heap *heap);
void lm_spares_give_surplus(struct lm_heap *heap, size_t most);

/* Gives up to `most` spans back. False if there are more. */
bool lm_spares_release(struct lm_heap *heap, size_t most);

/* Gives all back, and forgets what was learnt. */
void lm_spares_trim(struct lm_heap *heap);

/* Forgets what was learnt: another thread will have the heap. */
void lm_spares_forget(struct lm_heap *heap);

#endif
