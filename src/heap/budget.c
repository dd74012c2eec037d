#include "heap/budget.h"

#include "heap/large_cache.h"
#include "heap/middle.h"

#define FREE_FRACTION 8

_Atomic(size_t) lm_budget_kept_bytes;

/* What the heap keeps beyond the part of what it uses that counts for nothing. */
static size_t free_bytes(const struct lm_heap *heap) {
  size_t cached_count = lm_middle_cached_count(heap);
  size_t page_count = cached_count + heap->middle.dirty_count + lm_large_cache_pages(heap);
  size_t used_bytes = (heap->slice_count << LM_SLICE_SHIFT) +
                      (lm_middle_live_count(heap) << lm_os.page_shift);
  size_t slice_count = heap->spares.count + lm_min(heap->bulk.fallen_count, heap->slice_count);
  size_t bytes = (slice_count << LM_SLICE_SHIFT) + (page_count << lm_os.page_shift);
  return bytes - lm_min(bytes, used_bytes / FREE_FRACTION);
}

static void report(struct lm_heap *heap, size_t bytes) {
  lm_add_relaxed(&lm_budget_kept_bytes, bytes - heap->reported_bytes);
  heap->reported_bytes = bytes;
}

void lm_budget_report(struct lm_heap *heap) {
  size_t bytes = free_bytes(heap);
  if (LM_UNLIKELY(bytes >= heap->reported_bytes + LM_BUDGET_STEP_BYTES)) report(heap, bytes);
}

void lm_budget_tick(struct lm_heap *heap) {
  lm_budget_report(heap);
  size_t bytes = free_bytes(heap);
  if (bytes + LM_BUDGET_STEP_BYTES <= heap->reported_bytes) report(heap, bytes);
}

void lm_budget_end(struct lm_heap *heap) {
  heap->bulk.fallen_count = 0;
  if (heap->reported_bytes != 0) report(heap, 0);
}
