/* A heap on its own: where blocks come from, where spans go. No thread-local state is used. */
#include "unit.h"

#define CLASS 4 /* of 64 bytes: 1024 blocks in a span of one slice, 64 in an OS page of 4 KiB */
enum { BLOCKS = 1024, EIGHTH = BLOCKS / 8 };

static struct lm_heap *heap;
static char *blocks[3 * BLOCKS];

static void begin(void) {
  heap = lm_heap_begin();
  CHECK(heap != NULL);
  lm_options.purge_delay_ms = 3600000; /* no tick, unless a test wants it */
  heap->trim_class = LM_CLASS_COUNT;
}

static void take_blocks(size_t from, size_t to) {
  for (size_t i = from; i < to; i++) {
    blocks[i] = heap_take(heap, CLASS);
    CHECK(blocks[i] != NULL);
  }
}

static void give_blocks(size_t from, size_t to) {
  for (size_t i = from; i < to; i++) heap_give(heap, blocks[i]);
}


static size_t spans_in_use(void) { return heap->pool->span_slice_count; }

/* ---- Blocks ---- */

static void blocks_are_distinct_aligned_and_of_their_spans_class(void) {
  begin();
  take_blocks(0, 2 * BLOCKS);
  for (size_t i = 0; i < 2 * BLOCKS; i++) {
    CHECK_EQ((uintptr_t)blocks[i] % 64, 0);
    CHECK_EQ(lm_span_of(blocks[i])->class_index, CLASS);
    memset(blocks[i], 0, 64);
  }
  for (size_t i = 0; i < 2 * BLOCKS; i++) CHECK_EQ(blocks[i][0]++, 0);
  CHECK_EQ(check_heap(heap), 2 * BLOCKS);
}

static void every_class_serves_all_blocks_of_a_span(void) {
  begin();
  for (size_t class = 1; class < LM_CLASS_COUNT; class++) {
    char *first = heap_take(heap, class), *block = NULL;
    for (size_t i = 1; i < lm_classes[class].block_count; i++) {
      block = heap_take(heap, class);
      CHECK_EQ(lm_span_of(block), lm_span_of(first));
      CHECK_EQ(block - first, i * lm_classes[class].block_bytes);
    }
    CHECK(lm_span_of(heap_take(heap, class)) != lm_span_of(first));
  }
  check_heap(heap);
}

static void what_was_freed_last_is_taken_first(void) {
  begin();
  take_blocks(0, 10);
  give_blocks(3, 5);
  CHECK_EQ(heap_take(heap, CLASS), blocks[4]);
  CHECK_EQ(heap_take(heap, CLASS), blocks[3]);
}

/* ---- Classes without spans ---- */

static void a_class_without_spans_borrows_a_page_of_larger_blocks(void) {
  begin();
  CHECK_EQ(lm_heap_borrow(heap, CLASS), NULL);
  heap_take(heap, CLASS + 1);
  size_t most = 4096 / 64, count = 0;
  while (count < most && lm_heap_borrow(heap, CLASS) != NULL) count++;
  CHECK_EQ(count, 4096 / 80 - 1); /* as many as the lender's bin had */
  heap_take(heap, CLASS + 1), heap_take(heap, CLASS + 1); /* the first lies across two pages */
  while (lm_heap_borrow(heap, CLASS) != NULL) count++;
  CHECK_EQ(count, most);
  CHECK_EQ(check_heap(heap), count + 3);
}

static void a_class_with_a_span_borrows_nothing(void) {
  begin();
  heap_take(heap, CLASS + 1);
  CHECK(lm_heap_borrow(heap, CLASS) != NULL);
  char *block = heap_take(heap, CLASS);
  CHECK_EQ(lm_heap_borrow(heap, CLASS), NULL);
  heap_give(heap, block);
  lm_heap_trim(heap);
  CHECK_EQ(heap->borrowed_counts[CLASS], 0);
  CHECK(lm_heap_borrow(heap, CLASS) != NULL);
}

static void nothing_is_borrowed_of_blocks_more_than_a_quarter_larger(void) {
  begin();
  heap_take(heap, CLASS + 2);
  CHECK_EQ(lm_heap_borrow(heap, CLASS), NULL);
  heap_take(heap, lm_sizeclass_of(1281)), heap_take(heap, lm_sizeclass_of(1281));
  CHECK_EQ(lm_heap_borrow(heap, lm_sizeclass_of(1024)), NULL);
  heap_take(heap, lm_sizeclass_of(1280)), heap_take(heap, lm_sizeclass_of(1280));
  CHECK(lm_heap_borrow(heap, lm_sizeclass_of(1024)) != NULL);
  CHECK_EQ(lm_heap_borrow(heap, LM_CLASS_COUNT - 1), NULL);
}

static void malloc_borrows_before_it_takes_a_span(void) {
  char *lender = lm_raw_malloc(80);
  for (int i = 0; i < 4096 / 80 - 1; i++)
    CHECK_EQ(lm_span_of(lm_raw_malloc(64)), lm_span_of(lender));
  CHECK_EQ(lm_span_of(lm_raw_malloc(64))->class_index, CLASS);
}

/* ---- Extension ---- */

static void fresh_memory_is_carved_page_by_page(void) {
  begin();
  take_blocks(0, 1);
  struct lm_span *span = lm_span_of(blocks[0]);
  CHECK_EQ(span->extended_count, CARVE_FRESH_BYTES / 64);
  take_blocks(1, 64);
  CHECK_EQ(span->extended_count, 64);
  take_blocks(64, 65);
  CHECK_EQ(span->extended_count, 128);
}

static void used_memory_is_carved_some_pages_at_a_time(void) {
  begin();
  char *first = heap_take(heap, CLASS);
  heap_give(heap, first);
  lm_heap_trim(heap);
  size_t class = lm_sizeclass_of(4096);
  char *block = heap_take(heap, class);
  CHECK_EQ(block, first);
  CHECK(!lm_span_of(block)->zero);
  CHECK_EQ(lm_span_of(block)->extended_count, CARVE_AT_ONCE_BYTES / 4096);
  CHECK_EQ(lm_span_of(block)->carve_limit, 1 + CARVE_USED_BYTES / 4096);
}

static void blocks_larger_than_a_page_are_carved_one_by_one(void) {
  begin();
  size_t class = lm_sizeclass_of(8192);
  char *first = heap_take(heap, class);
  CHECK_EQ(lm_span_of(first)->extended_count, 1);
  CHECK_EQ(heap_take(heap, class), first + 8192);
  CHECK_EQ(lm_span_of(first)->extended_count, 2);
}

static void a_fresh_spans_first_block_is_known_to_be_zero_and_a_used_ones_is_not(void) {
  bool zero = false;
  begin();
  char *block = lm_heap_take_slow(heap, CLASS, &zero);
  CHECK(zero);
  check_zero(block, 64);
  heap_give(heap, block);
  lm_heap_trim(heap);
  CHECK_EQ(spans_in_use(), 0);
  CHECK_EQ(lm_heap_take_slow(heap, CLASS, &zero), block);
  CHECK(!zero);
}

/* ---- Which span is refilled from ---- */

static void a_full_span_waits_until_an_eighth_of_it_is_free(void) {
  begin();
  take_blocks(0, BLOCKS + 1);
  struct lm_span *span = lm_span_of(blocks[0]);
  CHECK_EQ(span->state, LM_SPAN_FULL);
  give_blocks(0, EIGHTH - 1);
  CHECK_EQ(span->state, LM_SPAN_FULL);
  give_blocks(EIGHTH - 1, EIGHTH);
  CHECK_EQ(span->state, LM_SPAN_USABLE);
  CHECK_EQ(heap->usable[CLASS].first, span);
  CHECK_EQ(check_heap(heap), BLOCKS + 1 - EIGHTH);
}

static void a_usable_span_is_used_before_the_current_one_is_extended(void) {
  begin();
  take_blocks(0, BLOCKS + 1);
  give_blocks(0, EIGHTH);
  struct lm_span *old = lm_span_of(blocks[0]), *current = heap->current[CLASS];
  take_blocks(BLOCKS + 1, BLOCKS + 64); /* the rest of the current one's first page */
  CHECK_EQ(heap->current[CLASS], current);
  take_blocks(0, EIGHTH);
  CHECK_EQ(heap->current[CLASS], old);
  CHECK_EQ(current->state, LM_SPAN_USABLE); /* it has room to extend */
  CHECK_EQ(check_heap(heap), BLOCKS + 64);
}

static void a_span_with_room_is_extended_before_a_new_one_is_taken(void) {
  begin();
  take_blocks(0, BLOCKS + 64);
  give_blocks(0, EIGHTH);
  take_blocks(0, EIGHTH); /* refills from the first span; the second one waits with its room */
  CHECK_EQ(spans_in_use(), 2);
  take_blocks(BLOCKS + 64, 2 * BLOCKS);
  CHECK_EQ(spans_in_use(), 2);
  CHECK_EQ(check_heap(heap), 2 * BLOCKS);
  take_blocks(2 * BLOCKS, 2 * BLOCKS + 1);
  CHECK_EQ(spans_in_use(), 3);
}

/* ---- Empty spans ---- */

static void a_span_whose_last_block_is_freed_goes_back(void) {
  begin();
  take_blocks(0, 2 * BLOCKS);
  struct lm_span *span = lm_span_of(blocks[0]);
  give_blocks(0, BLOCKS - 1);
  CHECK_EQ(spans_in_use(), 2);
  give_blocks(BLOCKS - 1, BLOCKS);
  CHECK_EQ(spans_in_use(), 1);
  CHECK_EQ(span->state, LM_SPAN_NONE);
  CHECK_EQ(lm_tag_of(blocks[0]), 0);
  CHECK_EQ(check_heap(heap), BLOCKS);
  check_pool(heap->pool);
}

static void a_class_that_is_freed_altogether_leaves_no_span(void) {
  begin();
  take_blocks(0, 3 * BLOCKS);
  give_blocks(0, 2 * BLOCKS);
  CHECK_EQ(spans_in_use(), 1);
  CHECK_EQ(heap->current[CLASS], NULL); /* so that frees into the last span are counted */
  CHECK_EQ(check_heap(heap), BLOCKS);
  give_blocks(2 * BLOCKS, 3 * BLOCKS);
  CHECK_EQ(spans_in_use(), 0);
  CHECK_EQ(heap->span_counts[CLASS], 0);
}

static void the_last_span_of_a_class_is_current_again_when_malloc_wants_it(void) {
  begin();
  take_blocks(0, 2 * BLOCKS);
  give_blocks(BLOCKS, BLOCKS + 2); /* of the current span */
  struct lm_span *last = heap->current[CLASS];
  give_blocks(0, BLOCKS);
  CHECK_EQ(heap->current[CLASS], NULL);
  CHECK_EQ(last->state, LM_SPAN_USABLE);
  CHECK_EQ(heap_take(heap, CLASS), blocks[BLOCKS + 1]);
  CHECK_EQ(heap->current[CLASS], last);
  CHECK_EQ(check_heap(heap), BLOCKS - 1);
}

static void a_last_span_that_is_full_waits_among_the_full_ones(void) {
  begin();
  take_blocks(0, 2 * BLOCKS);
  struct lm_span *last = heap->current[CLASS];
  CHECK_EQ(heap->bins[CLASS], NULL);
  give_blocks(0, BLOCKS);
  CHECK_EQ(last->state, LM_SPAN_FULL);
  CHECK_EQ(check_heap(heap), BLOCKS);
  take_blocks(0, BLOCKS);
  CHECK(lm_span_of(blocks[0]) != last);
  CHECK_EQ(check_heap(heap), 2 * BLOCKS);
}

static void the_current_span_stays_when_it_is_empty(void) {
  begin();
  take_blocks(0, 1);
  give_blocks(0, 1);
  CHECK_EQ(spans_in_use(), 1);
  CHECK_EQ(heap->current[CLASS], lm_span_of(blocks[0]));
}

static void trim_gives_empty_current_spans_back_and_keeps_others(void) {
  begin();
  take_blocks(0, 1);
  heap_give(heap, heap_take(heap, 7));
  heap_give(heap, heap_take(heap, 100));
  lm_heap_trim(heap);
  CHECK_EQ(spans_in_use(), 1);
  CHECK_EQ(heap->current[7], NULL);
  CHECK_EQ(check_heap(heap), 1);
}

static void a_tick_looks_at_a_few_classes_at_a_time(void) {
  begin();
  heap_give(heap, heap_take(heap, TRIM_CLASSES_PER_TICK - 1));
  heap_give(heap, heap_take(heap, 100));
  heap->tick_ms = lm_os_clock_ms() - lm_options.purge_delay_ms;
  lm_heap_tick(heap);
  CHECK_EQ(heap->trim_class, TRIM_CLASSES_PER_TICK);
  CHECK_EQ(heap->current[TRIM_CLASSES_PER_TICK - 1], NULL);
  CHECK(heap->current[100] != NULL);
  for (int i = 1; i < LM_CLASS_COUNT / TRIM_CLASSES_PER_TICK + 1; i++) lm_heap_tick(heap);
  CHECK_EQ(heap->current[100], NULL);
  CHECK_EQ(spans_in_use(), 0);
}

static void nothing_is_trimmed_before_the_tick_is_due(void) {
  begin();
  take_blocks(0, 1);
  give_blocks(0, 1);
  for (int i = 0; i < 100; i++) lm_heap_tick(heap);
  CHECK_EQ(spans_in_use(), 1);
}

/* ---- Out of memory ---- */

static void without_memory_the_heap_stays_as_it_is_and_goes_on_later(void) {
  begin();
  take_blocks(0, BLOCKS);
  struct lm_span *span = lm_span_of(blocks[0]);
  lm_pools[0].regions->run_limit = 0; /* as if it were full */
  lm_fault_countdown = 0;
  CHECK_EQ(heap_take(heap, CLASS), NULL);
  CHECK_EQ(heap->current[CLASS], span);
  CHECK_EQ(check_heap(heap), BLOCKS);
  take_blocks(BLOCKS, BLOCKS + 1);
  CHECK_EQ(check_heap(heap), BLOCKS + 1);
}

/* ---- Begin and end ---- */

static void a_heap_that_ends_waits_for_the_next_thread(void) {
  begin();
  struct lm_heap *first = heap;
  end_heap(first);
  CHECK_EQ(lm_load_relaxed(&first->inbox), LM_INBOX_CLOSED);
  begin();
  CHECK_EQ(heap, first);
  CHECK_EQ(lm_load_relaxed(&heap->inbox), NULL);
  CHECK_EQ(lm_heap_made_count, 1);
  CHECK_EQ(lm_heap_live_count, 1);
}

static void a_heap_without_blocks_leaves_nothing_behind(void) {
  begin();
  take_blocks(0, 3 * BLOCKS);
  give_blocks(0, 3 * BLOCKS);
  end_heap(heap);
  CHECK_EQ(spans_in_use(), 0);
  check_pool(heap->pool);
  for (size_t i = 0; i < LM_BIN_COUNT; i++) CHECK_EQ(heap->bins[i], NULL);
}

static void what_a_thread_leaves_behind_beyond_a_mebibyte_goes_back_at_once(void) {
  begin();
  size_t class = lm_sizeclass_of(32768), count = 64;
  for (size_t i = 0; i < count; i++) blocks[i] = heap_take(heap, class);
  for (size_t i = 0; i < count; i++) heap_give(heap, blocks[i]);
  end_heap(heap);
  CHECK_THAT(heap->pool->dirty_page_count * PAGE, <=, LM_POOL_KEEP_BYTES);
}

static void the_empty_heap_serves_nothing(void) {
  for (size_t i = 0; i < LM_BIN_COUNT; i++) CHECK_EQ(lm_empty_heap.bins[i], NULL);
  for (uint32_t class = 0; class < 256; class++)
    for (uint32_t owner = 0; owner < 10; owner++)
      CHECK_THAT((owner << LM_TAG_OWNER_SHIFT | class) ^ lm_empty_heap.tag, >=, LM_TAG_OWN_LIMIT);
}

/* ---- Everything at once ---- */

static void a_random_history_keeps_every_equation(void) {
  static char *held[20000];
  uint64_t random = 5;
  size_t used = 0;
  begin();
  for (int step = 0; step < 400000; step++) {
    size_t i = random_next(&random) % COUNT_OF(held);
    if ((step / 40000) % 2 == 1 && random_next(&random) % 4 != 0 && held[i] == NULL) continue;
    if (held[i] != NULL) {
      heap_give(heap, held[i]);
      held[i] = NULL;
      used--;
    } else {
      held[i] = heap_take(heap, 1 + random_next(&random) % 20);
      used++;
    }
    if (step % 20000 == 0) CHECK_EQ(check_heap(heap), used);
  }
  for (size_t i = 0; i < COUNT_OF(held); i++)
    if (held[i] != NULL) heap_give(heap, held[i]);
  CHECK_EQ(check_heap(heap), 0);
  end_heap(heap);
  CHECK_EQ(spans_in_use(), 0);
  check_pool(heap->pool);
}

int main(void) {
  RUN(blocks_are_distinct_aligned_and_of_their_spans_class);
  RUN(every_class_serves_all_blocks_of_a_span);
  RUN(what_was_freed_last_is_taken_first);
  RUN(a_class_without_spans_borrows_a_page_of_larger_blocks);
  RUN(a_class_with_a_span_borrows_nothing);
  RUN(nothing_is_borrowed_of_blocks_more_than_a_quarter_larger);
  RUN(malloc_borrows_before_it_takes_a_span);
  RUN(fresh_memory_is_carved_page_by_page);
  RUN(used_memory_is_carved_some_pages_at_a_time);
  RUN(blocks_larger_than_a_page_are_carved_one_by_one);
  RUN(a_fresh_spans_first_block_is_known_to_be_zero_and_a_used_ones_is_not);
  RUN(a_full_span_waits_until_an_eighth_of_it_is_free);
  RUN(a_usable_span_is_used_before_the_current_one_is_extended);
  RUN(a_span_with_room_is_extended_before_a_new_one_is_taken);
  RUN(a_span_whose_last_block_is_freed_goes_back);
  RUN(a_class_that_is_freed_altogether_leaves_no_span);
  RUN(the_last_span_of_a_class_is_current_again_when_malloc_wants_it);
  RUN(a_last_span_that_is_full_waits_among_the_full_ones);
  RUN(the_current_span_stays_when_it_is_empty);
  RUN(trim_gives_empty_current_spans_back_and_keeps_others);
  RUN(a_tick_looks_at_a_few_classes_at_a_time);
  RUN(nothing_is_trimmed_before_the_tick_is_due);
  RUN(without_memory_the_heap_stays_as_it_is_and_goes_on_later);
  RUN(a_heap_that_ends_waits_for_the_next_thread);
  RUN(a_heap_without_blocks_leaves_nothing_behind);
  RUN(what_a_thread_leaves_behind_beyond_a_mebibyte_goes_back_at_once);
  RUN(the_empty_heap_serves_nothing);
  RUN(a_random_history_keeps_every_equation);
  puts("where a purge decommits:");
  lm_os.overcommit = false;
  lm_os.purge_decommits = true;
  RUN(a_random_history_keeps_every_equation);
  return UNIT_RESULT();
}
