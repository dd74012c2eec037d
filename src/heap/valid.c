#include "heap/valid.h"

#if LM_VALIDATES

#include "heap/bins.h"
#include "heap/middle.h"
#include "heap/watch.h"
#include "os/panic.h"

static size_t list_length(const struct lm_block *block) {
  size_t length = 0;
  for (; lm_is_block(block); block = lm_block_next(block)) lm_must(++length <= 65536);
  return length;
}

/* The equations of pages/span.h; returns how many blocks of the span the program has, those in
 * chains and messages included. */
static size_t validate_span(const struct lm_heap *heap, const struct lm_span *span) {
  lm_must(span->extended_count <= span->capacity);
  lm_must(lm_load_relaxed(&span->owner) == heap);
  uint32_t tag = lm_tags_read(lm_span_start(span));
  if (lm_tags.multiplier != 0) lm_must(tag == lm_load_relaxed(&span->tag));
  uint32_t sentinel = span == heap->bulk.sentinel ? LM_TAG_SENTINEL : 0;
  lm_must(lm_load_relaxed(&span->tag) == (heap->tag | sentinel | span->class_index));
  size_t free_count = list_length(span->free_list) + span->hole_block_count;
  lm_must(span->used_count + free_count == span->extended_count);
  lm_must((span->hole_pages != 0) == (span->hole_block_count != 0));
  lm_must(span->used_count > 0 || span->state == LM_SPAN_CURRENT);
  return span->used_count;
}

/* The heap's chunks, and its sums of them. */
void lm_middle_validate(const struct lm_heap *heap) {
  const struct lm_middle *middle = &heap->middle;
  size_t used = 0, dirty = 0, empty = 0;
  for (size_t run = 0; run <= LM_CHUNK_RUN_MAX; run++) {
    const struct lm_span *span = middle->by_run[run].first;
    if (run != 0) lm_must(((middle->runs >> (run - 1)) & 1) == (span != NULL));
    for (; span != NULL; span = span->next) {
      lm_must(span->state == LM_SPAN_CHUNK);
      lm_must(lm_load_relaxed(&span->owner) == heap);
      lm_must(lm_load_relaxed(&span->tag) == (heap->tag | LM_TAG_CHUNK | LM_CLASS_MIDDLE));
      lm_must(lm_chunk_of_span(span)->run_limit == run);
      lm_chunk_validate(span);
      used += span->used_count;
      dirty += lm_load_relaxed(&lm_chunk_of_span(span)->dirty_count);
      empty += span->used_count == 0;
    }
  }
  size_t cached = 0;
  for (size_t i = 0; i < LM_CHUNK_RUN_MAX; i++) {
    const struct lm_cached *block = middle->cached[i];
    lm_must(((middle->lengths >> i) & 1) == (block != NULL));
    for (; block != NULL; block = block->next) {
      lm_must(block->entry == lm_region_block_entry(block));
      lm_must(lm_region_block_pages(block) == i + 1);
      lm_must(lm_region_live_pages(block) == 0);
      cached += i + 1;
    }
  }
  lm_must(cached == lm_middle_cached_count(heap));
  lm_must(used == middle->used_count);
  lm_must(dirty == middle->dirty_count);
  lm_must(empty == middle->empty_chunk_count);
}

/* How many blocks of the heap's own are in a bin, or in its reserve. */
static size_t validate_bin(const struct lm_heap *heap, size_t class_index,
                               struct lm_block *first) {
  size_t own = 0;
  for (struct lm_block *block = first; lm_is_block(block); block = lm_block_next(block)) {
    uint32_t tag = lm_load_relaxed(&lm_span_of(block)->tag) & ~LM_TAG_SENTINEL;
    lm_must((tag & (LM_TAG_OWN_LIMIT - 1)) == class_index);
    if (tag == (heap->tag | class_index)) own++;
    else lm_must(heap->has_guests[class_index]);
  }
  return own;
}

static void validate_spares(const struct lm_heap *heap) {
  const struct lm_spares *spares = &heap->spares;
  size_t count = 0;
  for (size_t i = 0; i < LM_CLASS_COUNT; i++) {
    const struct lm_span *span = heap->spare_spans[i];
    lm_must(lm_bitmap_test(spares->classes, i) == (span != NULL));
    for (; span != NULL; span = span->next) {
      lm_must(span->state == LM_SPAN_SPARE);
      lm_must(span->class_index == i);
      lm_must(span->used_count == 0);
      lm_must(list_length(span->free_list) + span->hole_block_count == span->extended_count);
      lm_must(lm_load_relaxed(&span->tag) == LM_TAG_SPARE);
      lm_must(lm_load_relaxed(&span->owner) == heap);
      count += span->slice_count;
    }
  }
  lm_must(count == spares->count);
  lm_must(spares->lowest_count <= count);
  lm_must(spares->surplus_count <= count);
}

/* The spans of a list, all in one state; adds to what they have in use and returns how many. */
static size_t validate_list(const struct lm_heap *heap, const struct lm_span *first,
                            size_t class_index, enum lm_span_state state, size_t *used) {
  size_t count = 0;
  for (const struct lm_span *span = first; span != NULL; span = span->next, count++) {
    lm_must(span->state == state);
    lm_must(span->class_index == class_index);
    if (state == LM_SPAN_FULL) lm_must(span->used_count > span->look_at_count);
    *used += validate_span(heap, span);
    if (state == LM_SPAN_CURRENT) return 1;
  }
  return count;
}

static void validate_sum(const struct lm_heap *heap, size_t class_index) {
  if (heap->profile.bin_sums == NULL || heap->profile.bin_sums[class_index] == 0) return;
  int left = heap->frees_left[class_index], guests = heap->guests_left[class_index];
  if (left < 0) return;
  size_t count = list_length(heap->bins[class_index]);
  lm_must(heap->profile.bin_sums[class_index] == count + (size_t)(left + guests));
}

size_t lm_heap_validate(const struct lm_heap *heap) {
  size_t used = 0, slices = 0;
  lm_middle_validate(heap);
  validate_spares(heap);
  for (size_t i = 1; i < LM_CLASS_COUNT; i++) {
    size_t spans = validate_list(heap, heap->current[i], i, LM_SPAN_CURRENT, &used);
    spans += validate_list(heap, heap->usable[i].first, i, LM_SPAN_USABLE, &used);
    spans += validate_list(heap, heap->full[i].first, i, LM_SPAN_FULL, &used);
    lm_must(spans == heap->span_counts[i]);
    slices += spans * lm_classes[i].slice_count;
    used -= validate_bin(heap, i, heap->bins[i]);
    validate_sum(heap, i);
    lm_must(heap->room_steps[i] <= LM_ROOM_STEPS);
    lm_must(heap->frees_left[i] <= (int)lm_max(lm_classes[i].bin_frees, LM_FREES_PER_LOOK));
    lm_must(heap->reserves[i] != NULL || !lm_bitmap_test(heap->seen_reserves, i));
    lm_must(heap->reserves[i] != NULL || !lm_bitmap_test(heap->spare_reserves, i));
    if (heap->reserves[i] != NULL) used -= validate_bin(heap, i, heap->reserves[i]);
  }
  lm_must(slices == heap->slice_count);
  bool is_threads = !lm_tag_is_shared(heap->tag); /* first-class heaps do not watch the clock */
  if (is_threads && lm_watches(heap))
    lm_must(lm_load_relaxed(&heap->free_tag) == LM_TAG_NO_HEAP);
  const struct lm_span *sentinel = heap->bulk.sentinel;
  if (sentinel != NULL)
    lm_must(sentinel->state == LM_SPAN_USABLE || sentinel->state == LM_SPAN_FULL);
  return used;
}

#endif
