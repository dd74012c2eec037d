/* Heaps of threads that end: which are kept for the next thread, and for how long. */
#include "unit.h"

#define CLASS 4 /* of 64 bytes */

static bool is_kept(const struct lm_heap *heap) {
  for (const struct lm_heap *h = kept_heaps; h != NULL; h = h->next)
    if (h == heap) return true;
  return false;
}

static size_t spans_in_use(void) { return lm_pools[0].span_slice_count; }

/* Makes the heap hold about so many bytes. */
static void use(struct lm_heap *heap, size_t bytes) {
  for (size_t i = 0; i < bytes / 1024; i++) CHECK(heap_take(heap, lm_sizeclass_of(1024)) != NULL);
}

static void a_small_heap_is_kept_with_its_spans(void) {
  struct lm_heap *heap = new_heap();
  char *kept = heap_take(heap, CLASS), *freed = heap_take(heap, CLASS);
  heap_give(heap, freed);
  lm_heap_end(heap);
  CHECK(is_kept(heap));
  CHECK_EQ(lm_pool_thread_count, 0);
  CHECK_EQ(spans_in_use(), 1);
  CHECK_EQ(new_heap(), heap);
  CHECK(!is_kept(heap));
  CHECK_EQ(heap_take(heap, CLASS), freed);
  heap_give(heap, kept);
  CHECK_EQ(lm_heap_validate(heap), 1);
}

static void a_large_heap_is_not_kept(void) {
  struct lm_heap *heap = new_heap();
  size_t pages = lm_max(KEPT_BYTES / PAGE / 16, 1);
  void *middle = lm_middle_take(heap, pages, false);
  for (int i = 0; i < 16; i++) CHECK(lm_middle_take(heap, pages, false) != NULL);
  lm_heap_end(heap);
  CHECK(!is_kept(heap));
  CHECK_EQ(lm_load_relaxed(&heap->inbox), LM_INBOX_CLOSED);
  CHECK_EQ(lm_load_relaxed(&lm_span_of(middle)->owner), NULL);
}

static void what_is_sent_to_a_kept_heap_is_there_for_the_next_thread(void) {
  struct lm_heap *heap = new_heap(), *other = new_heap();
  char *block = heap_take(heap, CLASS);
  lm_heap_end(heap);
  heap_give(other, block);
  lm_remote_flush(other);
  CHECK(lm_load_relaxed(&heap->inbox) != NULL);
  CHECK_EQ(new_heap(), heap);
  lm_remote_collect(heap);
  CHECK_EQ(lm_heap_validate(heap), 0);
}

static void kept_heaps_hold_no_more_than_the_limit(void) {
  struct lm_heap *heaps[4];
  for (int i = 0; i < 4; i++) heaps[i] = new_heap();
  for (int i = 0; i < 4; i++) use(heaps[i], 100 * 1024);
  for (int i = 0; i < 4; i++) lm_heap_end(heaps[i]);
  CHECK(is_kept(heaps[0]) && is_kept(heaps[1]) && !is_kept(heaps[2]) && !is_kept(heaps[3]));
  CHECK_THAT(kept_bytes, <=, KEPT_BYTES);
}

static void the_limit_rises_while_heaps_are_reused_and_falls_when_one_is_kept_in_vain(void) {
  for (int i = 0; i < 2 * REUSES_PER_DOUBLING + 1; i++) lm_heap_end(new_heap());
  CHECK_EQ(kept_limit(), 4 * KEPT_BYTES);
  for (int i = 0; i < 100 * REUSES_PER_DOUBLING; i++) lm_heap_end(new_heap());
  CHECK_EQ(kept_limit(), KEPT_BYTES << KEPT_DOUBLINGS);
  end_all_kept();
  CHECK_EQ(kept_limit(), KEPT_BYTES);
}

static void what_was_kept_long_enough_is_given_up_the_oldest_first(void) {
  struct lm_heap *first = new_heap(), *second = new_heap();
  char *block = heap_take(first, CLASS);
  heap_give(second, heap_take(second, CLASS));
  lm_heap_end(first);
  lm_heap_end(second);
  first->kept_ms -= 1000000;
  CHECK(lm_heap_end_oldest_kept(1000000));
  CHECK(!lm_heap_end_oldest_kept(1000000));
  CHECK(!is_kept(first) && is_kept(second));
  CHECK_EQ(lm_span_of(block)->state, LM_SPAN_ORPHAN);
  CHECK_EQ(spans_in_use(), 2);
  CHECK(lm_heap_end_oldest_kept(0));
  CHECK(!is_kept(second));
  CHECK_EQ(spans_in_use(), 1);
  CHECK_EQ(kept_bytes, 0);
}

/* So many ticks that each of the jobs that they leave to each other has its turn. */
static void tick_through_jobs(struct lm_heap *heap) {
  for (int i = 0; i < JOB_COUNT; i++) lm_heap_tick(heap);
}

static void ticks_give_up_what_was_kept_for_the_delay(void) {
  struct lm_heap *heap = new_heap(), *other = new_heap();
  lm_options.purge_delay_ms = 1000;
  heap_give(heap, heap_take(heap, CLASS));
  lm_heap_end(heap);
  other->tick_ms -= 10000;
  tick_through_jobs(other);
  CHECK(is_kept(heap));
  heap->kept_ms -= lm_options.purge_delay_ms;
  other->tick_ms -= 10000;
  tick_through_jobs(other);
  CHECK(!is_kept(heap));
  CHECK_EQ(spans_in_use(), 0);
}

static void a_clock_younger_than_the_delay_gives_up_nothing(void) {
  struct lm_heap *heap = new_heap(), *other = new_heap();
  lm_options.purge_delay_ms = 2 * lm_os_clock_ms();
  heap_give(heap, heap_take(heap, CLASS));
  lm_heap_end(heap);
  other->tick_ms = 0;
  other->ends_kept = true;
  tick_through_jobs(other);
  CHECK(is_kept(heap));
}

/* As many as there are: no tick ends more, and all are ended in time. */
static void one_tick_ends_one_kept_heap(void) {
  enum { COUNT = 50 };
  struct lm_heap *heaps[COUNT], *other = new_heap();
  for (int i = 0; i < COUNT; i++) heaps[i] = new_heap();
  for (int i = 0; i < COUNT; i++) {
    heap_give(heaps[i], heap_take(heaps[i], CLASS));
    lm_heap_end(heaps[i]);
    CHECK(is_kept(heaps[i]));
    heaps[i]->kept_ms -= lm_options.purge_delay_ms;
  }
  other->tick_ms -= lm_options.purge_delay_ms;
  int ended_count = 0;
  for (int i = 0; i < JOB_COUNT * COUNT && ended_count < COUNT; i++) {
    lm_heap_tick(other);
    if (!is_kept(heaps[ended_count])) ended_count++;
    CHECK(ended_count == COUNT || is_kept(heaps[ended_count]));
  }
  CHECK_EQ(ended_count, COUNT);
  CHECK_EQ(spans_in_use(), 0);
  tick_through_jobs(other);
  CHECK(!other->ends_kept);
}

static void without_purging_nothing_is_kept(void) {
  struct lm_heap *heap = new_heap();
  lm_options.purge_delay_ms = 0; /* nobody would give it up */
  heap_give(heap, heap_take(heap, CLASS));
  lm_heap_end(heap);
  CHECK(!is_kept(heap));
}

int main(void) {
  RUN(a_small_heap_is_kept_with_its_spans);
  RUN(a_large_heap_is_not_kept);
  RUN(what_is_sent_to_a_kept_heap_is_there_for_the_next_thread);
  RUN(kept_heaps_hold_no_more_than_the_limit);
  RUN(the_limit_rises_while_heaps_are_reused_and_falls_when_one_is_kept_in_vain);
  RUN(what_was_kept_long_enough_is_given_up_the_oldest_first);
  RUN(ticks_give_up_what_was_kept_for_the_delay);
  RUN(a_clock_younger_than_the_delay_gives_up_nothing);
  RUN(one_tick_ends_one_kept_heap);
  RUN(without_purging_nothing_is_kept);
  return UNIT_RESULT();
}
