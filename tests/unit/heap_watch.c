/* Watching the clock: which heaps do, what it may cost, and what follows from time that has passed. */
#include "unit.h"

enum { BLOCKS = 1024, BYTES = 1000 };
static void *blocks[BLOCKS];

/* The thread's heap, with `count` blocks in use, and the clock not seen for so long. */
static struct lm_heap *begin(size_t count, uint64_t unseen_ms) {
  for (size_t i = 0; i < count; i++) CHECK((blocks[i] = lm_raw_malloc(BYTES)) != NULL);
  struct lm_heap *heap = lm_this_heap;
  heap->close_looks = 0;
  heap->watch.seen_ms -= unseen_ms;
  lm_heap_tick(heap);
  lm_heap_validate(heap);
  return heap;
}

static void replace(size_t i) {
  lm_raw_free(blocks[i]);
  blocks[i] = lm_raw_malloc(BYTES);
}

static void a_heap_that_holds_little_does_not_watch(void) { CHECK(!lm_watches(begin(8, 1000))); }

static void a_heap_that_holds_much_watches(void) {
  struct lm_heap *heap = begin(BLOCKS, 1000);
  CHECK(lm_watches(heap));
  CHECK_EQ(heap->watch.free_count, FREES_MAX);
}

static void a_heap_watches_for_what_is_free_in_its_pool(void) {
  lm_options.purge_delay_ms = 0; /* what is free stays there */
  void *large = lm_raw_malloc(2 * MIB);
  lm_raw_free(large);
  CHECK(lm_watches(begin(8, 1000)));
}

static void a_watched_free_is_a_free_like_any_other(void) {
  struct lm_heap *heap = begin(BLOCKS, 1000);
  lm_raw_free(blocks[0]);
  CHECK(lm_watches(heap));
  CHECK_EQ(lm_raw_malloc(BYTES), blocks[0]);
  void *middle = lm_raw_malloc(30000), *large = lm_raw_malloc(MIB);
  lm_raw_free(NULL);
  lm_raw_free(middle);
  CHECK_EQ(lm_raw_malloc(30000), middle);
  lm_raw_free(large);
  lm_raw_free(middle);
  for (size_t i = 0; i < BLOCKS; i++) lm_raw_free(blocks[i]);
  lm_heap_validate(heap);
}

static void *free_them(void *unused) {
  for (size_t i = 0; i < BLOCKS; i++) CHECK(lm_raw_malloc(BYTES) != NULL); /* they are its own */
  CHECK(lm_watches(begin(0, 1000)));
  for (size_t i = 0; i < BLOCKS; i++) lm_raw_free(blocks[i]);
  return unused;
}

static void blocks_of_others_go_home_from_a_heap_that_watches(void) {
  struct lm_heap *heap = begin(BLOCKS, 1000);
  size_t slices = heap->slice_count;
  run_in_thread(free_them, NULL);
  lm_heap_trim(heap);
  CHECK_THAT(heap->slice_count, <, slices / 4);
}

/* Frees until one is the last that may look. */
static void use_up(struct lm_heap *heap) {
  for (int i = 0; lm_watches(heap); i++) {
    CHECK_THAT(i, <, 1000000);
    lm_raw_free(blocks[i % BLOCKS]);
    if (lm_watches(heap)) blocks[i % BLOCKS] = lm_raw_malloc(BYTES);
    else blocks[i % BLOCKS] = NULL;
  }
}

static void fast_frees_use_up_what_they_may_and_the_next_malloc_looks(void) {
  struct lm_heap *heap = begin(BLOCKS, 1000);
  use_up(heap);
  CHECK_EQ(lm_malloc_heap, &lm_empty_heap);
  CHECK(lm_raw_malloc(BYTES) != NULL);
  CHECK_EQ(lm_malloc_heap, heap);
}

static void holes_that_may_cost_nothing_more_do_not_let_frees_look(void) {
  struct lm_heap *heap = begin(BLOCKS, 1000);
  heap->tick.turns_pools = heap->tick.visits_others = false;
  for (int i = 0; lm_watches(heap); i++) {
    CHECK_THAT(i, <, 100000); /* as long as the clock stands still */
    heap->holes.goes_on = true;
    heap->holes.credit = 0;
    replace((size_t)i % BLOCKS);
  }
}

/* Of a thread that has made few calls. */
static void first_frees_look_at_the_clock_if_there_are_other_threads(void) {
  lm_raw_free(lm_raw_malloc(16));
  struct lm_heap *heap = lm_this_heap;
  CHECK_THAT(heap->close_looks, >, 2);
  CHECK(!is_worth_a_look(heap));
  heap->watch.seen_ms -= 50;
  lm_raw_free(lm_raw_malloc(16));
  CHECK_THAT(lm_os_clock_ms() - heap->watch.seen_ms, >=, 50);
  lm_heap_begin();
  lm_raw_free(lm_raw_malloc(16));
  CHECK_THAT(lm_os_clock_ms() - heap->watch.seen_ms, <, 50);
}

/* ---- Threads whose calls all take the fast paths ---- */

static void free_half_elsewhere(struct lm_heap *heap) {
  for (size_t i = 0; i < BLOCKS; i += 2) {
    struct lm_block *block = blocks[i];
    lm_remote_free(heap, block, lm_sizeclass_of(BYTES));
    blocks[i] = NULL;
  }
  lm_remote_flush(heap);
}

static void a_heap_that_is_called_takes_what_others_have_sent(void) {
  struct lm_heap *heap = begin(BLOCKS, 0), *other = lm_heap_begin();
  set_watching(heap, false);
  free_half_elsewhere(other);
  CHECK(lm_remote_waits(heap));
  set_watching(heap, true); /* as a sender does */
  void *used = lm_raw_malloc(16);
  for (int i = 0; i < 100 && lm_watches(heap); i++) {
    lm_raw_free(used);
    used = lm_raw_malloc(16);
  }
  CHECK(!lm_remote_waits(heap));
  lm_heap_validate(heap);
}

static void a_tick_takes_what_others_have_sent(void) {
  struct lm_heap *heap = begin(BLOCKS, 0), *other = lm_heap_begin();
  lm_remote_free(other, blocks[0], lm_sizeclass_of(BYTES));
  lm_remote_flush(other);
  CHECK(lm_remote_waits(heap));
  lm_heap_tick(heap);
  CHECK(!lm_remote_waits(heap));
}

static void bins_are_bounded_once_frees_may_not_look_and_much_is_free(void) {
  struct lm_heap *heap = begin(BLOCKS, 1000);
  use_up(heap);
  CHECK(!heap->watch.keeps_much);
  heap->large_cache.page_count = lm_pages_of(IDLE_MIN_BYTES);
  lm_heap_tick(heap);
  use_up(heap);
  CHECK(heap->watch.keeps_much);
  CHECK(lm_bin_is_bounded(heap, lm_sizeclass_of(16)));
  heap->large_cache.page_count = 0;
  heap->watch.seen_ms--; /* as if the clock had gone on */
  lm_heap_tick(heap);
  CHECK(!heap->watch.keeps_much);
  lm_heap_validate(heap);
}

static void a_free_that_finds_the_bin_full_sees_the_clock(void) {
  struct lm_heap *heap = begin(BLOCKS, 1000);
  heap->large_cache.page_count = lm_pages_of(IDLE_MIN_BYTES);
  use_up(heap);
  lm_raw_free(lm_raw_malloc(16));
  heap->watch.seen_ms -= 50;
  size_t unseen_ms = 50;
  for (int i = 0; i < 100000 && unseen_ms >= 50; i++) {
    lm_raw_free(lm_raw_malloc(64));
    unseen_ms = lm_os_clock_ms() - heap->watch.seen_ms;
  }
  CHECK_THAT(unseen_ms, <, 50);
  heap->large_cache.page_count = 0;
}

/* Nothing is free but what others, who sleep, may have; the thread's calls all take fast paths. */
static void it_does_so_if_there_are_other_threads(void) {
  struct lm_heap *heap = begin(BLOCKS, 1000);
  lm_heap_begin();
  use_up(heap);
  CHECK(!heap->watch.keeps_much);
  size_t pair_count = 0;
  for (heap->watch.seen_ms -= 50; lm_os_clock_ms() - heap->watch.seen_ms >= 50; pair_count++) {
    CHECK_THAT(pair_count, <=, LM_FREES_PER_LOOK);
    lm_raw_free(lm_raw_malloc(16));
  }
}

static void a_free_after_a_rest_sees_the_clock(void) {
  struct lm_heap *heap = begin(BLOCKS, 1000);
  heap->watch.seen_ms -= 50;
  heap->tick.last_ms -= 1000;
  replace(0);
  CHECK_THAT(lm_os_clock_ms() - heap->watch.seen_ms, <, 50);
  CHECK_THAT(lm_os_clock_ms() - heap->tick.last_ms, <, 1000);
}

/* All that the heap holds goes back in some rests, though no bin is ever empty. */
static void rests_empty_bins_that_nobody_uses(void) {
  struct lm_heap *heap = begin(BLOCKS, 1000);
  void *used = lm_raw_malloc(16), *other = lm_raw_malloc(16);
  lm_raw_free(other);
  heap->spares.learning.learnt_count = 1000; /* so that bins and spares keep it all */
  for (size_t i = 0; i < BLOCKS; i++) lm_raw_free(blocks[i]);
  CHECK_THAT(heap->slice_count + heap->spares.count, >, 8);
  for (int i = 0; i < 10; i++) {
    heap->watch.seen_ms -= 200;
    heap->tick.last_ms -= 200;
    lm_raw_free(used);
    used = lm_raw_malloc(16);
    if (!lm_watches(heap)) lm_heap_tick(heap);
  }
  CHECK_THAT(heap->slice_count + heap->spares.count, <=, 4);
}

int main(void) {
  RUN(a_heap_that_holds_little_does_not_watch);
  RUN(a_heap_that_holds_much_watches);
  RUN(a_heap_watches_for_what_is_free_in_its_pool);
  RUN(a_watched_free_is_a_free_like_any_other);
  RUN(blocks_of_others_go_home_from_a_heap_that_watches);
  RUN(fast_frees_use_up_what_they_may_and_the_next_malloc_looks);
  RUN(holes_that_may_cost_nothing_more_do_not_let_frees_look);
  RUN(first_frees_look_at_the_clock_if_there_are_other_threads);
  RUN(a_heap_that_is_called_takes_what_others_have_sent);
  RUN(a_tick_takes_what_others_have_sent);
  RUN(bins_are_bounded_once_frees_may_not_look_and_much_is_free);
  RUN(a_free_that_finds_the_bin_full_sees_the_clock);
  RUN(it_does_so_if_there_are_other_threads);
  RUN(a_free_after_a_rest_sees_the_clock);
  RUN(rests_empty_bins_that_nobody_uses);
  return UNIT_RESULT();
}
