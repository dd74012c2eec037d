#include "heap/spares.h"

#include "heap/span_life.h"
#include "os/panic.h"

/* So many slices are kept in any case, and a part of what is in use. */
#define SPARE_SLICES 1
#define SPARE_FRACTION 16
#define GIVEN_PER_FREE 2 /* spans, so that no call pays for all */

/* Gives a spare back to its pool, of one class after the other; there is one. */
static void give_spare(struct lm_heap *heap) {
  struct lm_spares *spares = &heap->spares;
  size_t class_index = lm_bitmap_find_set(spares->classes, spares->next_class, LM_CLASS_COUNT);
  if (class_index == LM_CLASS_COUNT)
    class_index = lm_bitmap_find_set(spares->classes, 0, LM_CLASS_COUNT);
  spares->next_class = class_index + 1;
  struct lm_span *span = lm_spares_take(heap, class_index);
  spares->surplus_count -= lm_min(spares->surplus_count, span->slice_count);
  lm_span_end(span);
}

/* Gives spares back that are beyond what the heap keeps. Returns whether what is used has just
 * fallen. */
static bool give_excess(struct lm_heap *heap) {
  struct lm_spares *spares = &heap->spares;
  size_t used = heap->slice_count, count_before = spares->count;
  lm_budget_report(heap);
  size_t limit = used;
  if (LM_LIKELY(!lm_budget_reaches_option())) limit += SPARE_SLICES + used / SPARE_FRACTION;
  if (spares->learning.learnt_count > limit && !lm_budget_exceeded())
    limit = spares->learning.learnt_count;
  for (int i = 0; i < GIVEN_PER_FREE && used + spares->count > limit; i++) give_spare(heap);
  return lm_learning_note_given(&spares->learning, used, count_before - spares->count);
}

bool lm_spares_give(struct lm_heap *heap, struct lm_span *span) {
  struct lm_spares *spares = &heap->spares;
  size_t class_index = span->class_index;
  lm_assert(span->used_count == 0 && lm_load_relaxed(&span->owner) == heap);
  lm_span_set_tag(span, LM_TAG_SPARE);
  span->state = LM_SPAN_SPARE;
  span->next = heap->spare_spans[class_index];
  heap->spare_spans[class_index] = span;
  lm_bitmap_set(spares->classes, class_index, class_index + 1);
  spares->count += span->slice_count;
  return give_excess(heap);
}

struct lm_span *lm_spares_take(struct lm_heap *heap, size_t class_index) {
  struct lm_spares *spares = &heap->spares;
  struct lm_span *span = heap->spare_spans[class_index];
  if (span == NULL) return NULL;
  heap->spare_spans[class_index] = span->next;
  if (span->next == NULL) lm_bitmap_clear(spares->classes, class_index, class_index + 1);
  span->next = NULL;
  lm_assert(span->state == LM_SPAN_SPARE && span->slice_count <= spares->count);
  spares->count -= span->slice_count;
  spares->lowest_count = lm_min(spares->lowest_count, spares->count);
  spares->surplus_count = lm_min(spares->surplus_count, spares->count);
  return span;
}

struct lm_span *lm_spares_take_any(struct lm_heap *heap, size_t slice_count) {
  const struct lm_spares *spares = &heap->spares;
  if (spares->count < slice_count) return NULL;
  for (size_t i = 0; i < LM_CLASS_COUNT; i++) {
    i = lm_bitmap_find_set(spares->classes, i, LM_CLASS_COUNT);
    if (i < LM_CLASS_COUNT && lm_classes[i].slice_count == slice_count)
      return lm_spares_take(heap, i);
  }
  return NULL;
}

void lm_spares_tick(struct lm_heap *heap) {
  struct lm_spares *spares = &heap->spares;
  struct lm_learning *learning = &spares->learning;
  spares->surplus_count = spares->lowest_count;
  spares->lowest_count = spares->count;
  learning->learnt_count = lm_min(learning->learnt_count, learning->used_peak);
  lm_learning_tick(learning, heap->slice_count);
}

void lm_spares_give_surplus(struct lm_heap *heap, size_t most) {
  for (; most > 0 && heap->spares.surplus_count > 0; most--) give_spare(heap);
}

bool lm_spares_release(struct lm_heap *heap, size_t most) {
  for (; most > 0 && heap->spares.count > 0; most--) give_spare(heap);
  return heap->spares.count == 0;
}

void lm_spares_trim(struct lm_heap *heap) {
  lm_spares_release(heap, SIZE_MAX);
  lm_spares_forget(heap);
}

void lm_spares_forget(struct lm_heap *heap) {
  heap->spares.learning = (struct lm_learning){0};
  heap->spares.lowest_count = heap->spares.surplus_count = 0;
}
