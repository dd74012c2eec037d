/* Runs of pages within a chunk: where they are taken, how they are joined, what is purged.
 * All tests run with the machine's pages, with pages of 64 KiB, without overcommit, and
 * where a purge decommits. */
#include "unit.h"

static struct lm_pool *const pool = &lm_pools[0];

static struct lm_span *take_chunk_regretting(size_t *regretted) {
  char *start = lm_pool_take_chunk(pool, regretted);
  CHECK(start != NULL);
  CHECK_EQ((uintptr_t)start % LM_CHUNK_BYTES, 0);
  lm_pool_validate(pool);
  struct lm_span *span = lm_span_begin(start, NULL, LM_CLASS_MIDDLE, LM_CHUNK_SLICES);
  lm_chunk_validate(span);
  return span;
}

static struct lm_span *take_chunk(void) {
  size_t regretted;
  return take_chunk_regretting(&regretted);
}

static char *take_clear(struct lm_span *span, size_t pages, bool clear) {
  size_t reused, regretted;
  char *block = lm_chunk_take(span, pages, clear, &reused, &regretted);
  lm_chunk_validate(span);
  return block;
}

static char *take_block(struct lm_span *span, size_t pages) { return take_clear(span, pages, false); }

static bool resize_block(struct lm_span *span, char *block, size_t pages) {
  size_t regretted;
  bool resized = lm_chunk_resize(span, block, pages, &regretted);
  lm_chunk_validate(span);
  return resized;
}

static void give_back(struct lm_span *span, char *block) {
  lm_chunk_give(span, block);
  lm_chunk_validate(span);
}

static size_t dirty_count(const struct lm_span *span) {
  return lm_load_relaxed(&lm_chunk_of_span(span)->dirty_count);
}

/* ---- Runs ---- */

static void a_new_chunk_is_filled_from_its_start(void) {
  struct lm_span *span = take_chunk();
  CHECK_EQ(take_block(span, 3), lm_span_start(span));
  CHECK_EQ(take_block(span, 2), lm_span_start(span) + 3 * PAGE);
  CHECK_EQ(span->used_count, 5);
}

static void the_lowest_run_that_will_do_is_taken(void) {
  struct lm_span *span = take_chunk();
  char *two = take_block(span, 2), *wall = take_block(span, 1), *four = take_block(span, 4);
  take_block(span, 1);
  give_back(span, four);
  give_back(span, two);
  CHECK_EQ(take_block(span, 3), four);
  CHECK_EQ(take_block(span, 1), two);
  CHECK_EQ(lm_region_live_pages(wall), 1);
}

static void neighbours_that_are_free_are_one_run(void) {
  struct lm_span *span = take_chunk();
  char *first = take_block(span, 2), *second = take_block(span, 3), *third = take_block(span, 1);
  while (take_block(span, 1) != NULL) {}
  CHECK_EQ(lm_chunk_of_span(span)->run_limit, 0); /* known since it was in vain */
  give_back(span, first);
  give_back(span, third);
  CHECK_EQ(lm_chunk_of_span(span)->run_limit, 2);
  give_back(span, second);
  CHECK_EQ(lm_chunk_of_span(span)->run_limit, 6);
  CHECK_EQ(take_block(span, 7), NULL);
  CHECK_EQ(take_block(span, 6), first);
}

static void any_order_of_calls_keeps_the_maps_right(void) {
  enum { BLOCKS = 200 };
  char *blocks[BLOCKS] = {NULL};
  size_t pages[BLOCKS];
  uint64_t random = 7;
  struct lm_span *span = take_chunk();
  size_t most = lm_min(LM_CHUNK_RUN_MAX, lm_chunk_pages());
  for (int i = 0; i < 20000; i++) {
    size_t slot = random_next(&random) % BLOCKS;
    if (blocks[slot] != NULL) {
      CHECK_EQ(lm_region_live_pages(blocks[slot]), pages[slot]);
      give_back(span, blocks[slot]);
      blocks[slot] = NULL;
      continue;
    }
    pages[slot] = 1 + random_next(&random) % (random_next(&random) % most + 1);
    size_t lowest = lm_bitmap_lowest_run(lm_chunk_of_span(span)->used_pages, 0, lm_chunk_pages(),
                                         pages[slot]);
    char *run = lowest == LM_BITMAP_NONE ? NULL : lm_span_start(span) + lowest * PAGE;
    blocks[slot] = take_block(span, pages[slot]);
    CHECK_EQ(blocks[slot], run);
  }
}

static void a_block_grows_into_free_pages_and_shrinks(void) {
  struct lm_span *span = take_chunk();
  char *block = take_block(span, 2), *wall = take_block(span, 3);
  CHECK(!resize_block(span, block, 3));
  give_back(span, wall);
  CHECK(resize_block(span, block, 4));
  CHECK_EQ(lm_region_live_pages(block), 4);
  CHECK(resize_block(span, block, 1));
  CHECK_EQ(span->used_count, 1);
  CHECK(!resize_block(span, block, lm_chunk_pages() + 1));
}

static void a_block_at_the_end_does_not_grow_beyond(void) {
  struct lm_span *span = take_chunk();
  char *last = NULL;
  for (char *block; (block = take_block(span, 1)) != NULL;) last = block;
  CHECK_EQ(last, lm_span_start(span) + LM_CHUNK_BYTES - PAGE);
  CHECK(!resize_block(span, last, 2));
}

/* ---- What memory holds ---- */

static void reused_pages_are_cleared_when_asked_for(void) {
  struct lm_span *span = take_chunk();
  char *block = take_block(span, 2);
  memset(block, 7, 2 * PAGE);
  give_back(span, block);
  CHECK_EQ(take_clear(span, 4, true), block);
  check_zero(block, 4 * PAGE);
}

static void what_a_pool_knows_of_the_pages_passes_to_the_chunk_and_back(void) {
  struct lm_span *span = take_chunk();
  char *start = lm_span_start(span), *block = take_block(span, 3);
  memset(block, 7, 3 * PAGE);
  give_back(span, block);
  CHECK_EQ(dirty_count(span), 3);
  lm_pool_give_chunk(start);
  lm_pool_validate(pool);
  CHECK_EQ(lm_load_relaxed(&pool->dirty_page_count), 3);
  span = take_chunk();
  CHECK_EQ(lm_span_start(span), start);
  CHECK_EQ(dirty_count(span), 3);
  CHECK_EQ(lm_load_relaxed(&pool->dirty_page_count), 0);
  check_zero(take_clear(span, 4, true), 4 * PAGE);
}

/* ---- Purging ---- */

static size_t purge_up_to(struct lm_span *span, size_t most) {
  size_t effort = SIZE_MAX;
  return lm_chunk_purge(span, most, &effort);
}
static size_t purge(struct lm_span *span) { return purge_up_to(span, SIZE_MAX); }

/* Returns how many pages were purged. */
static size_t age_whole(struct lm_span *span) {
  size_t effort = SIZE_MAX, dirty_before = dirty_count(span);
  CHECK(lm_chunk_age(span, &effort));
  return dirty_before - dirty_count(span);
}

static void only_what_is_free_is_purged(void) {
  struct lm_span *span = take_chunk();
  char *first = take_block(span, 2), *kept = take_block(span, 1), *second = take_block(span, 3);
  memset(first, 1, 2 * PAGE), memset(kept, 2, PAGE), memset(second, 3, 3 * PAGE);
  give_back(span, first);
  give_back(span, second);
  CHECK_EQ(purge(span), 5);
  lm_chunk_validate(span);
  CHECK_EQ(dirty_count(span), 0);
  make_accessible(first, 6 * PAGE);
  check_zero(first, 2 * PAGE);
  check_zero(second, 3 * PAGE);
  CHECK_EQ(kept[0] + kept[PAGE - 1], 4);
}

static void a_purge_passes_over_clean_pages(void) {
  size_t effort = LM_KIB, reused, regretted;
  struct lm_span *span = take_chunk();
  char *first = take_block(span, 2), *second = take_block(span, 3), *third = take_block(span, 2);
  take_block(span, 1);
  give_back(span, second);
  CHECK_EQ(purge(span), 3);
  give_back(span, first);
  give_back(span, third);
  size_t calls = lm_region_of(first)->decommits ? 2 : 1;
  CHECK_EQ(lm_chunk_purge(span, SIZE_MAX, &effort), 4);
  CHECK_EQ(effort, LM_KIB - 4 - calls * LM_PURGE_CALL_EFFORT);
  lm_chunk_validate(span);
  CHECK_EQ(lm_chunk_take(span, 7, false, &reused, &regretted), first);
  CHECK_EQ(reused, 0);
  CHECK_EQ(regretted, 7);
}

static void what_was_purged_early_is_regretted_when_it_is_used(void) {
  size_t reused, regretted;
  struct lm_span *span = take_chunk();
  give_back(span, take_block(span, 3));
  purge(span);
  CHECK(lm_chunk_take(span, 2, false, &reused, &regretted) != NULL);
  CHECK_EQ(reused, 0);
  CHECK_EQ(regretted, 2);
  age_whole(span);
  CHECK(lm_chunk_take(span, 1, false, &reused, &regretted) != NULL);
  CHECK_EQ(regretted, 0); /* the time for regrets is over */
}

static void what_was_purged_early_is_regretted_when_a_block_grows_into_it(void) {
  size_t regretted;
  struct lm_span *span = take_chunk();
  char *block = take_block(span, 1);
  give_back(span, take_block(span, 3));
  purge(span);
  CHECK(lm_chunk_resize(span, block, 3, &regretted));
  CHECK_EQ(regretted, 2);
  CHECK(lm_chunk_resize(span, block, 1, &regretted));
  CHECK_EQ(regretted, 0);
  CHECK(lm_chunk_resize(span, block, 3, &regretted)); /* dirty, and not purged again */
  CHECK_EQ(regretted, 0);
}

static void aged_pages_are_those_that_stay_free(void) {
  struct lm_span *span = take_chunk();
  char *first = take_block(span, 2);
  take_block(span, 1);
  char *second = take_block(span, 2);
  take_block(span, 1);
  give_back(span, first);
  give_back(span, second);
  CHECK_EQ(age_whole(span), 0);
  give_back(span, take_block(span, 2)); /* the first, used since */
  CHECK_EQ(age_whole(span), 2);
  CHECK_EQ(dirty_count(span), 2);
  lm_chunk_validate(span);
}

static void what_was_purged_early_is_regretted_when_the_chunk_is_taken_again(void) {
  size_t regretted;
  struct lm_span *span = take_chunk_regretting(&regretted);
  CHECK_EQ(regretted, 0);
  char *start = lm_span_start(span);
  give_back(span, take_block(span, 5));
  CHECK_EQ(purge(span), 5);
  int64_t credit_before = pool->credit_page_count;
  lm_span_end(span);
  CHECK_EQ(pool->credit_page_count, credit_before);
  span = take_chunk_regretting(&regretted);
  CHECK(lm_span_start(span) == start);
  CHECK_EQ(regretted, 5);
  CHECK_EQ(credit_before - pool->credit_page_count, 5);
  lm_span_end(span);
  take_chunk_regretting(&regretted);
  CHECK_EQ(regretted, 0);
}

static void purging_ends_when_it_is_enough(void) {
  struct lm_span *span = take_chunk();
  char *blocks[4];
  for (int i = 0; i < 4; i++) blocks[i] = take_block(span, 1), take_block(span, 1);
  for (int i = 0; i < 4; i++) give_back(span, blocks[i]);
  CHECK_EQ(purge_up_to(span, 2), 2);
  CHECK_EQ(dirty_count(span), 2);
}

static void purging_by_the_clock_takes_no_more_than_the_effort(void) {
  struct lm_span *span = take_chunk();
  char *blocks[8];
  for (int i = 0; i < 8; i++) blocks[i] = take_block(span, 1), take_block(span, 1);
  for (int i = 0; i < 8; i++) give_back(span, blocks[i]);
  CHECK_EQ(age_whole(span), 0);
  size_t effort = 3 * (1 + LM_PURGE_CALL_EFFORT);
  CHECK(!lm_chunk_age(span, &effort));
  CHECK_EQ(effort, 0);
  CHECK_EQ(dirty_count(span), 5);
  CHECK_EQ(age_whole(span), 5); /* goes on where that has ended */
}

static void one_that_fails_is_tried_once_in_a_round(void) {
  struct lm_span *span = take_chunk();
  give_back(span, take_block(span, 3));
  CHECK_EQ(age_whole(span), 0);
  lm_fault_countdown = 0;
  size_t effort = 3 + LM_PURGE_CALL_EFFORT;
  CHECK(!lm_chunk_age(span, &effort));
  effort = SIZE_MAX;
  CHECK(lm_chunk_age(span, &effort));
  CHECK_EQ(effort, SIZE_MAX);
  CHECK_EQ(dirty_count(span), 3);
}

static void a_purge_that_fails_loses_nothing(void) {
  struct lm_span *span = take_chunk();
  give_back(span, take_block(span, 3));
  lm_fault_countdown = 0;
  CHECK_EQ(purge(span), 0);
  lm_chunk_validate(span);
  CHECK_EQ(dirty_count(span), 3);
}

static void run_all(void) {
  RUN(a_new_chunk_is_filled_from_its_start);
  RUN(the_lowest_run_that_will_do_is_taken);
  RUN(neighbours_that_are_free_are_one_run);
  RUN(any_order_of_calls_keeps_the_maps_right);
  RUN(a_block_grows_into_free_pages_and_shrinks);
  RUN(a_block_at_the_end_does_not_grow_beyond);
  RUN(reused_pages_are_cleared_when_asked_for);
  RUN(what_a_pool_knows_of_the_pages_passes_to_the_chunk_and_back);
  RUN(only_what_is_free_is_purged);
  RUN(a_purge_passes_over_clean_pages);
  RUN(what_was_purged_early_is_regretted_when_it_is_used);
  RUN(what_was_purged_early_is_regretted_when_a_block_grows_into_it);
  RUN(aged_pages_are_those_that_stay_free);
  RUN(what_was_purged_early_is_regretted_when_the_chunk_is_taken_again);
  RUN(purging_ends_when_it_is_enough);
  RUN(purging_by_the_clock_takes_no_more_than_the_effort);
  RUN(one_that_fails_is_tried_once_in_a_round);
  RUN(a_purge_that_fails_loses_nothing);
}

int main(void) {
  run_all();
  puts("without overcommit:");
  lm_os.overcommit = false;
  run_all();
  puts("where a purge decommits:");
  lm_os.purge_decommits = true;
  run_all();
  lm_os.purge_decommits = false;
  puts("with OS pages of 64 KiB:");
  lm_os.overcommit = true;
  lm_os.page_bytes = 65536;
  lm_os.page_shift = 16;
  run_all();
  return UNIT_RESULT();
}
