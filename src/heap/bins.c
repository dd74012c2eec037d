#include "heap/bins.h"

/* So many frees its bin takes, or has taken, since its room was last opened. */
static size_t frees_opened(const struct lm_heap *heap, size_t class_index) {
  size_t frees = lm_classes[class_index].bin_frees;
  return lm_max(frees >> (LM_ROOM_STEPS - heap->room_steps[class_index]), 1);
}

int16_t lm_bin_open_room(struct lm_heap *heap, size_t class_index) {
  if (!heap->counts_frees[class_index]) return LM_NO_FREES_LEFT;
  uint8_t *steps = &heap->room_steps[class_index];
  if (!lm_bins_count_all(heap)) *steps = LM_ROOM_STEPS;
  else if (*steps > 0) *steps -= 1;
  return (int16_t)frees_opened(heap, class_index);
}

bool lm_bin_open_further(struct lm_heap *heap, size_t class_index) {
  if (heap->room_steps[class_index] == LM_ROOM_STEPS) return false;
  size_t opened = frees_opened(heap, class_index);
  heap->room_steps[class_index]++;
  heap->frees_left[class_index] = (int16_t)(frees_opened(heap, class_index) - opened);
  lm_heap_forget_sum(heap, class_index);
  return true;
}

void lm_bin_set_counts_frees(struct lm_heap *heap, size_t class_index, bool counted) {
  heap->counts_frees[class_index] = counted;
  heap->frees_left[class_index] = lm_bin_open_room(heap, class_index);
  lm_heap_forget_sum(heap, class_index);
  if (heap->sentinel != NULL && heap->sentinel->class_index == class_index) heap->sentinel = NULL;
  lm_span_set_counts_frees(heap->current[class_index], counted);
  struct lm_span *span = heap->usable[class_index].first;
  for (; span != NULL; span = span->next) lm_span_set_counts_frees(span, counted);
  for (span = heap->full[class_index].first; span != NULL; span = span->next)
    lm_span_set_counts_frees(span, counted);
}

void lm_bin_count_frees(struct lm_heap *heap, size_t class_index) {
  if (heap->counts_frees[class_index] || heap->span_counts[class_index] == 0) return;
  lm_bin_set_counts_frees(heap, class_index, true);
}

void lm_bin_stop_counting(struct lm_heap *heap, size_t class_index) {
  if (heap->counts_frees[class_index] && lm_bin_slices(heap, class_index) <= LM_UNCOUNTED_SLICES &&
      !lm_bins_count_all(heap))
    lm_bin_set_counts_frees(heap, class_index, false);
}
