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
  check_heap(heap);
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
  lm_budget_kept_bytes = LM_BUDGET_ALONE_BYTES + MIB; /* by others */
  CHECK(!lm_spares_cover(heap));
  give_spans(heap);
  CHECK_THAT(heap->spares.count, <=, 2);
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
  RUN(many_threads_may_keep_less_than_one);
  RUN(in_the_child_of_a_fork_only_its_own_thread_counts);
  return UNIT_RESULT();
}
