#include "heap/bins.h"

/* So many frees its bin takes, or has taken, since its room was last opened. */
static size_t frees_opened(const struct lm_heap *heap, size_t class_index) {
  if (!lm_bin_is_bounded(heap, class_index)) return LM_FREES_PER_LOOK;
  size_t frees = lm_classes[class_index].bin_frees;
  return lm_max(frees >> (LM_ROOM_STEPS - heap->room_steps[class_index]), 1);
}

int16_t lm_bin_open_room(struct lm_heap *heap, size_t class_index) {
  uint8_t *steps = &heap->room_steps[class_index];
  if (!lm_bins_bound_all(heap)) *steps = LM_ROOM_STEPS;
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

void lm_bin_age(struct lm_heap *heap, size_t class_index) {
  if (heap->reserves[class_index] != NULL || heap->bins[class_index] == LM_NO_BLOCK) return;
  lm_bin_store_reserve(heap, class_index);
  int16_t *left = &heap->frees_left[class_index];
  if (*left >= 0) *left = lm_bin_open_room(heap, class_index);
}
