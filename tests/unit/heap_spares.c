/* Spares: which empty spans a heap keeps, for what they are used, and when they go back. */
#include "unit.h"

#define CLASS 4       /* of 64 bytes: 1024 blocks in a span of one slice */
#define TWO_SLICES 89 /* a class whose spans have two */
enum { BLOCKS = 1024, SPANS = 40 };

static struct lm_heap *heap;
static char *blocks[SPANS * BLOCKS];

static size_t slices(void) { return heap->pool->span_slice_count; }

static void take_spans(size_t count) {
  for (size_t i = 0; i < count * BLOCKS; i++) blocks[i] = heap_take(heap, CLASS);
}

/* Gives what take_spans has taken back into the spans. */
static void give_spans(size_t from, size_t to) {
  leave_no_room(heap, CLASS);
  for (size_t i = from * BLOCKS; i < to * BLOCKS; i++) heap_give(heap, blocks[i]);
  lm_heap_validate(heap);
}

/* A heap with a span's blocks in use, and a spare. */
static struct lm_span *begin_with_a_spare(void) {
  heap = new_heap();
  take_spans(2);
  struct lm_span *span = lm_span_of(blocks[0]);
  for (size_t i = 0; i < BLOCKS; i++) memset(blocks[i], 0xff, 64);
  give_spans(0, 1);
  CHECK_EQ(span->state, LM_SPAN_SPARE);
  return span;
}

static void a_heap_keeps_one_span_and_a_sixteenth_of_what_it_uses(void) {
  heap = new_heap();
  take_spans(SPANS);
  give_spans(0, 1);
  CHECK_EQ(heap->spares.count, 1);
  CHECK_EQ(slices(), SPANS);
  give_spans(1, 8);
  CHECK_EQ(heap->slice_count, SPANS - 8);
  CHECK_EQ(heap->spares.count, 1 + (SPANS - 8) / 16);
  give_spans(8, SPANS);
  CHECK_EQ(heap->spares.count, 1);
  CHECK_EQ(slices(), 1);
}

static void a_spare_of_small_blocks_is_carved_anew_in_their_order(void) {
  struct lm_span *span = begin_with_a_spare();
  for (size_t i = 0; i < BLOCKS; i++) {
    char *block = heap_take(heap, CLASS);
    CHECK_EQ(block, lm_span_start(span) + i * 64);
  }
  CHECK_EQ(heap->current[CLASS], span);
  CHECK_EQ(heap->spares.count, 0);
  CHECK_EQ(lm_heap_validate(heap), 2 * BLOCKS);
}

static void a_spare_of_larger_blocks_serves_its_class_as_it_is(void) {
  enum { BYTES = 1024, COUNT = LM_SLICE_BYTES / BYTES };
  size_t class_index = lm_sizeclass_of(BYTES);
  heap = new_heap();
  for (size_t i = 0; i < 2 * COUNT; i++) blocks[i] = heap_take(heap, class_index);
  struct lm_span *span = lm_span_of(blocks[0]);
  leave_no_room(heap, class_index);
  for (size_t i = 0; i < COUNT; i++) heap_give(heap, blocks[i]);
  CHECK_EQ(span->state, LM_SPAN_SPARE);
  CHECK_EQ(heap_take(heap, class_index), blocks[COUNT - 1]);
  CHECK_EQ(span->extended_count, COUNT);
  CHECK_EQ(heap->spares.count, 0);
  lm_heap_validate(heap);
}

static void a_spare_serves_another_class_when_that_needs_a_span(void) {
  struct lm_span *span = begin_with_a_spare();
  bool zero;
  char *block = lm_heap_take_slow(heap, CLASS + 1, &zero);
  CHECK_EQ(lm_span_of(block), span);
  CHECK_EQ(span->class_index, CLASS + 1);
  CHECK(!zero); /* the pool does not know yet that these pages have been written to */
  CHECK_EQ(heap->spares.count, 0);
  CHECK_EQ(lm_heap_validate(heap), BLOCKS + 1);
}

static void what_another_class_wrote_is_dirty_when_the_span_goes_back(void) {
  struct lm_span *span = begin_with_a_spare();
  char *block = heap_take(heap, CLASS + 1);
  CHECK_EQ(lm_span_of(block), span);
  leave_no_room(heap, CLASS + 1);
  heap_give(heap, block);
  lm_heap_trim(heap);
  size_t page = lm_page_of(lm_span_start(span)), count = lm_pages_per_slice();
  const struct lm_region *region = lm_region_of(span);
  CHECK_EQ(lm_bitmap_count(region->dirty_pages, page, page + count), count);
  lm_pool_validate(heap->pool);
}

static void a_spare_of_another_length_is_of_no_use(void) {
  begin_with_a_spare();
  CHECK_EQ(lm_classes[TWO_SLICES].slice_count, 2);
  heap_take(heap, TWO_SLICES);
  CHECK_EQ(heap->spares.count, 1);
  lm_heap_validate(heap);
}

static void what_is_freed_and_asked_for_again_is_kept_the_next_time(void) {
  heap = new_heap();
  for (int i = 0; i < 4; i++) {
    take_spans(SPANS);
    give_spans(0, SPANS);
  }
  CHECK_THAT(heap->spares.count, >=, SPANS - SPANS / 8);
  take_spans(SPANS);
  CHECK_EQ(lm_heap_validate(heap), SPANS * BLOCKS);
}

static void nothing_is_learnt_from_a_little_up_and_down(void) {
  heap = new_heap();
  take_spans(SPANS);
  for (int i = 0; i < 20; i++) {
    give_spans(0, SPANS / 3);
    for (size_t j = 0; j < SPANS / 3 * BLOCKS; j++) blocks[j] = heap_take(heap, CLASS);
  }
  CHECK_EQ(heap->spares.learning.learnt_count, 0);
}

static void how_much_is_learnt_is_an_option(void) {
  static const size_t options[] = {0, 101 * LM_SLICE_BYTES, SIZE_MAX}, learnt[] = {0, 101, 110};
  for (size_t i = 0; i < COUNT_OF(options); i++) {
    struct lm_learning learning = {.fell = true, .given_count = 10, .learnt_count = 100};
    lm_options.heap_cache_bytes = options[i];
    lm_learning_note_asked(&learning, 10, LM_SLICE_SHIFT);
    CHECK_EQ(learning.learnt_count, learnt[i]);
  }
}

static void no_more_is_learnt_than_there_may_be(void) {
  heap = new_heap();
  size_t most = LM_HEAP_CACHE_BYTES / LM_SLICE_BYTES;
  heap->spares.learning = (struct lm_learning){
      .used_peak = SIZE_MAX, .fell = true, .given_count = 100, .learnt_count = most - 1};
  heap_take(heap, CLASS);
  CHECK_EQ(heap->spares.learning.learnt_count, most);
  heap_take(heap, CLASS + 1);
  CHECK_EQ(heap->spares.learning.learnt_count, most);
}

static void tick_once(void) {
  heap->tick.last_ms = lm_os_clock_ms() - lm_options.purge_delay_ms;
  for (int i = 0; i < 2 * SPANS; i++) lm_heap_tick(heap);
  lm_heap_validate(heap);
}

static void what_is_not_needed_for_a_tick_goes_back_and_is_unlearnt(void) {
  heap = new_heap();
  for (int i = 0; i < 4; i++) {
    take_spans(SPANS);
    give_spans(0, SPANS);
  }
  size_t kept = heap->spares.count;
  tick_once();
  CHECK_EQ(heap->spares.count, kept); /* they were in use since the tick before */
  take_spans(10);
  give_spans(0, 10);
  tick_once();
  CHECK_THAT(heap->spares.count, <=, 11);
  CHECK_EQ(heap->spares.learning.learnt_count, 10);
  tick_once();
  tick_once();
  CHECK_EQ(slices(), 0);
}

static void a_block_of_a_spare_is_freed_twice_and_not_anybodys(void) {
  begin_with_a_spare();
  CHECK_EQ(lm_raw_usable_bytes(blocks[0]), 0);
  CHECK(!lm_large_give(heap, blocks[0]));
  CHECK(lm_large_is_free(blocks[0]));
}

static void the_end_of_a_heap_leaves_no_spares_and_what_it_learnt_is_forgotten(void) {
  heap = new_heap();
  take_spans(2);
  give_spans(0, 2);
  CHECK_EQ(heap->spares.count, 1);
  heap->spares.learning.learnt_count = 100;
  lm_heap_end(heap);
  CHECK_EQ(heap->spares.count, 0);
  CHECK_EQ(heap->spares.learning.learnt_count, 0);
  CHECK_EQ(slices(), 0);
}

int main(void) {
  RUN(a_heap_keeps_one_span_and_a_sixteenth_of_what_it_uses);
  RUN(a_spare_of_small_blocks_is_carved_anew_in_their_order);
  RUN(a_spare_of_larger_blocks_serves_its_class_as_it_is);
  RUN(a_spare_serves_another_class_when_that_needs_a_span);
  RUN(what_another_class_wrote_is_dirty_when_the_span_goes_back);
  RUN(a_spare_of_another_length_is_of_no_use);
  RUN(what_is_freed_and_asked_for_again_is_kept_the_next_time);
  RUN(nothing_is_learnt_from_a_little_up_and_down);
  RUN(how_much_is_learnt_is_an_option);
  RUN(no_more_is_learnt_than_there_may_be);
  RUN(what_is_not_needed_for_a_tick_goes_back_and_is_unlearnt);
  RUN(a_block_of_a_spare_is_freed_twice_and_not_anybodys);
  RUN(the_end_of_a_heap_leaves_no_spares_and_what_it_learnt_is_forgotten);
  return UNIT_RESULT();
}
