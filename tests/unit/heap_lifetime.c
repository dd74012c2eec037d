/* Heaps of threads that end: which are kept for the next thread, and for how long. */
#include "unit.h"

#define CLASS 4 /* of 64 bytes */

static bool is_kept(const struct lm_heap *heap) {
  for (const struct lm_heap *h = kept_heaps; h != NULL; h = h->kept.next)
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
  first->kept.since_ms -= 1000000;
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
  other->tick.last_ms -= 10000;
  tick_through_jobs(other);
  CHECK(is_kept(heap));
  heap->kept.since_ms -= lm_options.purge_delay_ms;
  other->tick.last_ms -= 10000;
  tick_through_jobs(other);
  CHECK(!is_kept(heap));
  CHECK_EQ(spans_in_use(), 0);
}

static void a_clock_younger_than_the_delay_gives_up_nothing(void) {
  struct lm_heap *heap = new_heap(), *other = new_heap();
  lm_options.purge_delay_ms = 2 * lm_os_clock_ms();
  heap_give(heap, heap_take(heap, CLASS));
  lm_heap_end(heap);
  other->tick.last_ms = 0;
  other->tick.ends_kept = true;
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
    heaps[i]->kept.since_ms -= lm_options.purge_delay_ms;
  }
  other->tick.last_ms -= lm_options.purge_delay_ms;
  int ended_count = 0;
  for (int i = 0; i < JOB_COUNT * COUNT && ended_count < COUNT; i++) {
    lm_heap_tick(other);
    if (!is_kept(heaps[ended_count])) ended_count++;
    CHECK(ended_count == COUNT || is_kept(heaps[ended_count]));
  }
  CHECK_EQ(ended_count, COUNT);
  CHECK_EQ(spans_in_use(), 0);
  tick_through_jobs(other);
  CHECK(!other->tick.ends_kept);
}

/* ---- Heaps that are too large to be left by one call ---- */

#define LARGEST lm_sizeclass_of(8192)
enum { IN_SPAN = 8, MANY = 2000 };
static char *many[MANY][IN_SPAN];

static struct lm_heap *heap_of_many(void) {
  struct lm_heap *heap = new_heap();
  CHECK_EQ(lm_classes[LARGEST].block_count, IN_SPAN);
  for (size_t i = 0; i < MANY; i++)
    for (size_t k = 0; k < IN_SPAN; k++) CHECK((many[i][k] = heap_take(heap, LARGEST)) != NULL);
  return heap;
}

static size_t orphan_count(void) {
  size_t count = 0;
  for (size_t i = 0; i < MANY; i++)
    count += lm_load_relaxed(&lm_span_of(many[i][0])->owner) == NULL;
  return count;
}

static void a_call_leaves_some_of_its_spans_and_others_go_on(void) {
  struct lm_heap *heap = heap_of_many(), *other = new_heap();
  lm_options.purge_delay_ms = UINT32_MAX; /* longer than the clock has run */
  lm_heap_end(heap);
  CHECK(is_kept(heap));
  CHECK_EQ(lm_pool_thread_count, 1);
  size_t left = orphan_count();
  CHECK_THAT(left, >=, lm_purge_effort() / 2);
  CHECK_THAT(left, <=, lm_purge_effort());
  lm_heap_validate(heap);
  heap_give(other, many[MANY - 2][0]); /* some are in its inbox meanwhile, others are orphans' */
  heap_give(other, many[0][0]);
  lm_remote_flush(other);
  for (size_t before = left; is_kept(heap); before = left) {
    CHECK(lm_heap_end_oldest_kept(LM_OPTION(purge_delay_ms)));
    CHECK_THAT((left = orphan_count()), <=, before + lm_purge_effort());
  }
  CHECK_EQ(left, MANY);
  CHECK_EQ(heap->slice_count, 0);
  CHECK_EQ(lm_load_relaxed(&heap->inbox), LM_INBOX_CLOSED);
  for (size_t i = 0; i < MANY; i++)
    for (size_t k = 0; k < IN_SPAN; k++)
      if ((i != 0 && i != MANY - 2) || k != 0) heap_give(other, many[i][k]);
  lm_remote_flush(other);
  lm_heap_trim(other);
  CHECK_EQ(spans_in_use(), 0);
}

static void the_next_thread_has_what_is_left(void) {
  struct lm_heap *heap = heap_of_many();
  lm_heap_end(heap);
  CHECK_EQ(new_heap(), heap);
  size_t used = (MANY - orphan_count()) * IN_SPAN;
  CHECK_EQ(lm_heap_validate(heap), used);
  for (size_t i = 0; i < MANY; i++)
    for (size_t k = 0; k < IN_SPAN; k++) heap_give(heap, many[i][k]);
  lm_remote_flush(heap);
  lm_heap_trim(heap);
  CHECK_EQ(lm_heap_validate(heap), 0);
  CHECK_EQ(spans_in_use(), 0);
}

static void cached_middle_blocks_go_in_parts_too(void) {
  static void *middles[2000];
  struct lm_heap *heap = new_heap(), *other = new_heap();
  size_t pages = lm_max(lm_pages_of(lm_classed_max_bytes + 1), 1), count = 3 * lm_purge_effort();
  CHECK_THAT(count, <=, sizeof middles / sizeof *middles);
  for (size_t i = 0; i < count; i++)
    CHECK((middles[i] = lm_middle_take(heap, pages, false)) != NULL);
  heap->middle.learning.learnt_count = SIZE_MAX / 2;
  for (size_t i = 1; i < count; i++) CHECK(lm_middle_give(heap, middles[i]));
  size_t cached = lm_middle_cached_count(heap);
  CHECK_THAT(cached, >, 2 * lm_purge_effort() * pages);
  lm_heap_end(heap);
  CHECK(is_kept(heap));
  CHECK_THAT(lm_middle_cached_count(heap), >=, cached - lm_purge_effort() * pages);
  CHECK_THAT(lm_middle_cached_count(heap), <, cached);
  end_all_kept();
  CHECK_EQ(lm_load_relaxed(&lm_span_of(middles[0])->owner), NULL);
  CHECK_EQ(lm_load_relaxed(&heap->inbox), LM_INBOX_CLOSED);
  lm_heap_trim(other);
}

static void what_is_kept_counts_guests(void) {
  struct lm_heap *heap = new_heap(), *other = new_heap();
  size_t pages = lm_pages_of(lm_classed_max_bytes + 1), kept = 0;
  heap->middle.guests_left = lm_middle_guests_most();
  while (lm_middle_keep_guest(heap, lm_middle_take(other, pages, false))) kept += pages;
  CHECK_THAT(kept, >, 0);
  lm_heap_end(heap);
  CHECK(is_kept(heap));
  CHECK_THAT(heap->kept.bytes, >=, kept * PAGE);
}

/* What others have freed of a heap's blocks, one in each message, waits when its thread ends. */
static void a_call_takes_some_of_its_messages_and_others_go_on(void) {
  enum { COUNT = 50000 };
  static char *blocks[COUNT];
  struct lm_heap *heap = new_heap(), *other = new_heap();
  size_t class_index = lm_sizeclass_of(256);
  for (size_t i = 0; i < COUNT; i++) CHECK((blocks[i] = heap_take(heap, class_index)) != NULL);
  for (size_t i = 0; i < COUNT; i++) lm_remote_free_now((struct lm_block *)blocks[i]);
  CHECK_EQ(lm_heaps_left_in_part, 0);
  size_t span_count = spans_in_use();
  lm_heap_end(heap);
  CHECK(is_kept(heap));
  CHECK_EQ(lm_heaps_left_in_part, 1);
  CHECK_THAT(lm_heap_validate(heap), >, COUNT / 2); /* what waits is in use as yet */
  CHECK_THAT(spans_in_use(), >, span_count / 2);
  size_t call_count = 0;
  for (; is_kept(heap); call_count++) CHECK(lm_heap_end_oldest_kept(UINT32_MAX));
  CHECK_THAT(call_count, >, COUNT / MESSAGES_PER_STEP / lm_purge_effort());
  CHECK_EQ(lm_heaps_left_in_part, 0);
  CHECK_EQ(lm_load_relaxed(&heap->inbox), LM_INBOX_CLOSED);
  CHECK_EQ(spans_in_use(), 0);
  lm_heap_trim(other);
}

static void who_has_a_heap_that_was_left_in_part_goes_on_with_its_messages(void) {
  enum { COUNT = 50000 };
  static char *blocks[COUNT];
  struct lm_heap *heap = new_heap();
  size_t class_index = lm_sizeclass_of(256);
  for (size_t i = 0; i < COUNT; i++) CHECK((blocks[i] = heap_take(heap, class_index)) != NULL);
  for (size_t i = 0; i < COUNT; i++) lm_remote_free_now((struct lm_block *)blocks[i]);
  lm_heap_end(heap);
  CHECK_EQ(new_heap(), heap);
  CHECK_EQ(lm_heaps_left_in_part, 0);
  lm_heap_trim(heap);
  CHECK_EQ(lm_heap_validate(heap), 0);
  CHECK_EQ(spans_in_use(), 0);
}

static void the_clock_is_looked_at_while_a_heap_is_left_in_part(void) {
  struct lm_heap *heap = heap_of_many(), *other = new_heap();
  lm_heap_end(heap);
  lm_heap_end(new_heap());
  CHECK_EQ(lm_pool_thread_count, 1);
  CHECK_EQ(lm_heaps_left_in_part, 1);
  CHECK(is_worth_a_look(other));
  end_all_kept();
  CHECK_EQ(lm_heaps_left_in_part, 0);
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
  RUN(a_call_leaves_some_of_its_spans_and_others_go_on);
  RUN(the_next_thread_has_what_is_left);
  RUN(cached_middle_blocks_go_in_parts_too);
  RUN(what_is_kept_counts_guests);
  RUN(a_call_takes_some_of_its_messages_and_others_go_on);
  RUN(who_has_a_heap_that_was_left_in_part_goes_on_with_its_messages);
  RUN(the_clock_is_looked_at_while_a_heap_is_left_in_part);
  RUN(without_purging_nothing_is_kept);
  return UNIT_RESULT();
}
