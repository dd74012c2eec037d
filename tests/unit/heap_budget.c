/* The budget: what all heaps together may keep of free memory, whatever each has learnt. */
#include "unit.h"

#define CLASS 4 /* of 64 bytes: 1024 blocks in a span of one slice */
enum { BLOCKS = 1024, SPANS = 80 };

static char *blocks[SPANS * BLOCKS];

static void take_spans(struct lm_heap *heap) {
  for (size_t i = 0; i < SPANS * BLOCKS; i++) blocks[i] = heap_take(heap, CLASS);
}

static void give_spans(struct lm_heap *heap) {
  leave_no_room(heap, CLASS);
  for (size_t i = 0; i < SPANS * BLOCKS; i++) heap_give(heap, blocks[i]);
  lm_heap_validate(heap);
}

/* A heap that has learnt to keep all its spans, and does if it may. */
static struct lm_heap *begin(void) {
  struct lm_heap *heap = new_heap();
  heap->spares.learning.learnt_count = SPANS;
  take_spans(heap);
  return heap;
}

static void what_a_heap_keeps_is_reported_in_steps(void) {
  struct lm_heap *heap = begin();
  CHECK_EQ(heap->reported_bytes, 0);
  give_spans(heap);
  CHECK_THAT(heap->spares.count, >=, SPANS - 2);
  size_t kept = heap->spares.count * LM_SLICE_BYTES;
  CHECK_THAT(heap->reported_bytes, >, kept - LM_BUDGET_STEP_BYTES);
  CHECK_THAT(heap->reported_bytes, <=, kept);
  CHECK_EQ(lm_budget_kept_bytes, heap->reported_bytes);
}

static void what_a_heap_keeps_no_longer_is_subtracted(void) {
  struct lm_heap *heap = begin();
  give_spans(heap);
  take_spans(heap);
  CHECK_THAT(heap->reported_bytes, >, 0); /* until a tick */
  lm_budget_tick(heap);
  CHECK_EQ(heap->reported_bytes, 0);
  CHECK_EQ(lm_budget_kept_bytes, 0);
  give_spans(heap);
  CHECK_THAT(lm_budget_kept_bytes, >, 0);
  end_heap(heap);
  CHECK_EQ(lm_budget_kept_bytes, 0);
}

static void a_part_of_what_is_used_counts_for_nothing(void) {
  struct lm_heap *heap = begin();
  heap->middle.dirty_count = (SPANS / FREE_FRACTION - 1) * lm_pages_per_slice();
  lm_budget_report(heap);
  CHECK_EQ(heap->reported_bytes, 0);
  heap->middle.dirty_count += 16 * lm_pages_per_slice();
  lm_budget_report(heap);
  CHECK_THAT(heap->reported_bytes, >=, 15 * LM_SLICE_BYTES);
  heap->middle.dirty_count = 0;
}

static void once_it_is_spent_heaps_keep_little_whatever_they_have_learnt(void) {
  struct lm_heap *heap = begin();
  lm_budget_kept_bytes = LM_HEAP_CACHE_BYTES + MIB; /* by others */
  CHECK(!lm_spares_cover(heap));
  give_spans(heap);
  CHECK_THAT(heap->spares.count, <=, 2);
  lm_budget_kept_bytes = 0;
}

static void what_all_may_keep_is_an_option(void) {
  struct lm_heap *heap = begin();
  CHECK(lm_spares_cover(heap));
  lm_options.cache_bytes = 0;
  CHECK(!lm_spares_cover(heap));
  give_spans(heap);
  CHECK_THAT(heap->spares.count, <=, 2);
  lm_budget_kept_bytes = LM_HEAP_CACHE_BYTES + MIB; /* by others */
  lm_options.cache_bytes = SIZE_MAX;
  CHECK(!lm_budget_exceeded());
  lm_options.cache_bytes = LM_CACHE_AUTO;
  CHECK(lm_budget_exceeded());
  lm_options.heap_cache_bytes = SIZE_MAX;
  CHECK(!lm_budget_exceeded());
  lm_options.heap_cache_bytes = LM_HEAP_CACHE_BYTES;
  lm_budget_kept_bytes = 0;
}

/* What is left in bins of a heap that has fallen and covers that. */
static void what_is_in_bins_after_a_fall_counts_until_it_is_asked_for(void) {
  enum { OTHER = CLASS + 1, OTHERS = 2000 }; /* in so few spans that the bin takes all */
  static char *others[OTHERS];
  struct lm_heap *heap = begin();
  for (size_t i = 0; i < OTHERS; i++) others[i] = heap_take(heap, OTHER);
  for (size_t i = 0; i < OTHERS; i++) heap_give(heap, others[i]);
  heap->bulk.fallen_count = 0; /* that alone may have looked like a fall */
  heap->spares.learning.fell = false;
  give_spans(heap);
  CHECK_THAT(heap->bulk.fallen_count, >=, 3);
  size_t spares = heap->spares.count << LM_SLICE_SHIFT;
  CHECK_THAT(free_bytes(heap), >=, spares + LM_SLICE_BYTES);
  for (size_t i = 0; i < OTHERS + 1; i++) heap_take(heap, OTHER);
  CHECK_EQ(heap->bulk.fallen_count, 0);
  CHECK_THAT(free_bytes(heap), <=, spares);
}

#define MIDDLE_PAGES 8
enum { MIDDLES = 64 };

static void take_middles(struct lm_heap *heap, void *middles[MIDDLES]) {
  for (size_t i = 0; i < MIDDLES; i++)
    CHECK((middles[i] = lm_middle_take(heap, MIDDLE_PAGES, false)) != NULL);
}

static void middle_blocks_do_not_keep_chunks_once_it_is_spent(void) {
  struct lm_heap *heap = begin();
  void *middles[MIDDLES];
  for (int round = 0; round < 3; round++) { /* also when it has fallen before */
    take_middles(heap, middles);
    for (size_t i = 0; i < 4; i++) CHECK(lm_middle_give(heap, middles[i]));
    CHECK(!heap->middle.rests);
    lm_budget_kept_bytes = LM_HEAP_CACHE_BYTES + MIB; /* by others */
    for (size_t i = 4; i < MIDDLES; i++) CHECK(lm_middle_give(heap, middles[i]));
    CHECK(heap->middle.rests);
    CHECK_EQ(heap->middle.lengths, 0);
    CHECK_EQ(heap->middle.used_count, 0);
    lm_budget_kept_bytes = heap->reported_bytes;
  }
}

static void once_it_is_spent_bins_are_emptied_when_less_is_freed_in_bulk(void) {
  struct lm_heap *heap = new_heap();
  const size_t other = CLASS + 20, count = 2 * lm_classes[CLASS].bin_frees;
  heap_give(heap, heap_take(heap, other));
  lm_pool_thread_count += 100; /* bins are bounded */
  for (int spent = 0; spent < 2; spent++) {
    for (size_t i = 0; i < count; i++) blocks[i] = heap_take(heap, CLASS);
    lm_budget_kept_bytes = spent ? SIZE_MAX / 2 : 0;
    heap->bulk.bytes_since_refill = SHARE_MIN_BYTES / BULK_FRACTION_SPENT - 1;
    for (size_t i = 0; i < count; i++) heap_give(heap, blocks[i]);
    bool empty = heap->bins[other] == LM_NO_BLOCK && heap->reserves[other] == NULL;
    CHECK_EQ(empty, spent);
  }
  lm_pool_thread_count -= 100;
  lm_budget_kept_bytes = 0;
}

static void many_threads_may_keep_less_than_one(void) {
  new_heap();
  lm_budget_kept_bytes = LM_BUDGET_SHARED_BYTES + MIB;
  CHECK(!lm_budget_exceeded());
  lm_pool_thread_count += 100;
  CHECK(lm_budget_exceeded());
  lm_pool_thread_count -= 100;
  lm_budget_kept_bytes = 0;
}

static void in_the_child_of_a_fork_only_its_own_thread_counts(void) {
  struct lm_heap *heap = begin(), *other = new_heap();
  lm_budget_kept_bytes = 100 * MIB;
  heap->reported_bytes = MIB;
  lm_heap_after_fork(heap);
  CHECK_EQ(lm_pool_thread_count, 1);
  CHECK_EQ(lm_budget_kept_bytes, MIB);
  lm_heap_after_fork(&lm_empty_heap);
  CHECK_EQ(lm_pool_thread_count, 0);
  CHECK_EQ(lm_budget_kept_bytes, 0);
  (void)other;
}

int main(void) {
  RUN(what_a_heap_keeps_is_reported_in_steps);
  RUN(what_a_heap_keeps_no_longer_is_subtracted);
  RUN(a_part_of_what_is_used_counts_for_nothing);
  RUN(once_it_is_spent_heaps_keep_little_whatever_they_have_learnt);
  RUN(what_all_may_keep_is_an_option);
  RUN(what_is_in_bins_after_a_fall_counts_until_it_is_asked_for);
  RUN(middle_blocks_do_not_keep_chunks_once_it_is_spent);
  RUN(once_it_is_spent_bins_are_emptied_when_less_is_freed_in_bulk);
  RUN(many_threads_may_keep_less_than_one);
  RUN(in_the_child_of_a_fork_only_its_own_thread_counts);
  return UNIT_RESULT();
}
