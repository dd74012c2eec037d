/* Runs of OS pages: where they are taken, what is known of their contents, when they go back.
 * All tests run with the machine's pages, with pages of 64 KiB, without overcommit, and
 * where a purge decommits. */
#include "unit.h"

static struct lm_pool *const pool = &lm_pools[0];

static char *take_large(size_t pages, size_t alignment, bool *zero) {
  char *block = lm_pool_take_large(pool, pages, alignment, zero);
  CHECK(block != NULL);
  lm_pool_validate(pool);
  return block;
}

static char *take_some(size_t pages) {
  bool zero;
  return take_large(pages, PAGE, &zero);
}

static char *take_span(size_t slices, uint64_t *dirty) {
  char *start = lm_pool_take_slices(pool, slices, dirty);
  CHECK(start != NULL);
  CHECK_EQ((uintptr_t)start % LM_SLICE_BYTES, 0);
  lm_pool_validate(pool);
  return start;
}

static void give(void *block) {
  CHECK(lm_pool_give_large(block));
  lm_pool_validate(pool);
}

static size_t dirty_pages(void) { return lm_load_relaxed(&pool->dirty_page_count); }

static bool is_zero(const char *block, size_t bytes) {
  for (size_t i = 0; i < bytes; i++)
    if (block[i] != 0) return false;
  return true;
}

/* ---- Runs ---- */

static void spans_come_from_the_low_end_and_large_blocks_from_the_high_end(void) {
  uint64_t dirty;
  char *span = take_span(2, &dirty), *large = take_some(3);
  struct lm_region *region = lm_region_of(span);
  CHECK_EQ(lm_region_of(large), region);
  CHECK_EQ(span - (char *)region, region->first_slice * LM_SLICE_BYTES);
  CHECK_EQ(large + 3 * PAGE - (char *)region, LM_REGION_BYTES);
}

static void runs_do_not_overlap(void) {
  char *blocks[64];
  uint64_t random = 3;
  for (size_t i = 0; i < 64; i++) {
    size_t pages = 1 + random_next(&random) % 20;
    blocks[i] = take_some(pages);
    CHECK_EQ(lm_region_live_pages(blocks[i]), pages);
    for (size_t j = 0; j < i; j++)
      CHECK(blocks[i] + pages * PAGE <= blocks[j] ||
            blocks[j] + lm_region_live_pages(blocks[j]) * PAGE <= blocks[i]);
  }
}

/* What is remembered of a word never hides a run that is long enough, and few that are not. */
static void what_is_remembered_of_runs_is_rounded_to_the_safe_side(void) {
  for (size_t length = 1; length <= 3000; length++) {
    CHECK_THAT(limit_of_run(length), <, 128); /* a byte, whose high bit is the search's */
    CHECK_THAT(limit_wanted(length), <=, limit_of_run(length));
    CHECK_THAT(limit_of_run(length), <=, limit_of_run(length + 1));
    CHECK_THAT(limit_wanted(length), <=, limit_wanted(length + 1));
    if (length < 64) CHECK_THAT(limit_wanted(length + 1), >, limit_of_run(length));
  }
}

/* By looking at every page. */
static size_t highest_run(const struct lm_region *region, size_t count) {
  size_t length = 0;
  for (size_t page = lm_pages_per_region(); page-- > 0;) {
    length = lm_bitmap_test(region->used_pages, page) ? 0 : length + 1;
    if (length == count) return page;
  }
  return LM_BITMAP_NONE;
}

static void the_highest_run_of_each_length_is_found_whatever_comes_and_goes(void) {
  static const size_t lengths[] = {1, 2, 3, 17, 63, 64, 65, 100, 127, 128, 129, 500, 1000, 5000};
  char *blocks[60] = {NULL};
  uint64_t random = 5;
  struct lm_region *region = lm_region_of(take_some(1));
  for (int turn = 0; turn < 600; turn++) {
    size_t pages = 1 + random_next(&random) % (random_next(&random) % 4 == 0 ? 700 : 40);
    char **block = &blocks[random_next(&random) % COUNT_OF(blocks)];
    if (*block != NULL) CHECK(lm_pool_give_large(*block)), *block = NULL;
    else if (pages < lm_pages_per_region() / 60) *block = take_some(pages);
    size_t length = lengths[random_next(&random) % COUNT_OF(lengths)];
    if (length < lm_pages_per_region())
      CHECK_EQ(lm_runs_find_highest(region, length), highest_run(region, length));
  }
}

/* Of any lengths, so that searches learn where there is nothing, and frees where there is. */
static void blocks_that_come_and_go_are_found_wherever_there_is_room(void) {
  char *blocks[20] = {NULL};
  uint32_t random = 1;
  size_t most = lm_pages_per_region() / 24;
  for (int i = 0; i < 400; i++) {
    random = random * 1103515245 + 12345;
    char **block = &blocks[(random >> 16) % 20];
    if (*block != NULL) give(*block);
    *block = take_some(1 + (random >> 8) % most);
  }
  CHECK_THAT(pool->region_count, <=, 2);
}

static void a_hole_is_filled_before_new_room_is_taken(void) {
  char *a = take_some(4), *b = take_some(4), *c = take_some(4);
  give(b);
  CHECK_EQ(take_some(4), b);
  (void)a, (void)c;
}

static void above_a_block_that_grows_is_a_gap(void) {
  char *above = take_some(1), *block = lm_pool_take_growing(pool, 4, 2);
  lm_pool_validate(pool);
  CHECK_EQ(block + 6 * PAGE, above);
  CHECK(lm_pool_resize_large(block, 6));
  CHECK(!lm_pool_resize_large(block, 7));
  give(block);
}

static void without_room_for_a_whole_gap_there_is_none(void) {
  char *high = take_some(6), *low = take_some(1);
  give(high);
  CHECK_EQ(lm_pool_take_growing(pool, 4, 3), low + 3 * PAGE);
  lm_pool_validate(pool);
}

static void others_may_have_the_gap(void) {
  char *above = take_some(1);
  CHECK_EQ(lm_pool_take_growing(pool, 4, 2), above - 6 * PAGE);
  CHECK_EQ(take_some(2), above - 2 * PAGE);
}

static void a_block_has_the_alignment_that_was_asked_for(void) {
  bool zero;
  take_some(1);
  for (size_t alignment = PAGE; alignment <= LM_LARGE_MAX_BYTES; alignment *= 2) {
    char *block = take_large(1, alignment, &zero);
    CHECK_EQ((uintptr_t)block % alignment, 0);
  }
}

static void the_largest_alignment_and_size_fit_into_a_fresh_region(void) {
  bool zero;
  size_t pages = LM_LARGE_MAX_BYTES >> lm_os.page_shift;
  CHECK_EQ((uintptr_t)take_large(pages, LM_LARGE_MAX_BYTES, &zero) % LM_LARGE_MAX_BYTES, 0);
  CHECK_EQ(pool->region_count, 1);
}

static void a_pool_that_is_full_gets_another_region(void) {
  size_t pages = LM_LARGE_MAX_BYTES >> lm_os.page_shift;
  for (int i = 0; i < 2; i++) take_some(pages);
  CHECK_EQ(pool->region_count, 2);
}

static void a_slice_that_a_large_block_uses_a_part_of_is_not_a_spans(void) {
  uint64_t dirty;
  char *large = take_some(1);
  struct lm_region *region = lm_region_of(large);
  size_t free_slices = LM_REGION_SLICES - region->first_slice - 1;
  for (size_t i = 0; i < free_slices; i++) CHECK_EQ(lm_region_of(take_span(1, &dirty)), region);
  CHECK(lm_region_of(take_span(1, &dirty)) != region);
}

static void only_the_start_of_a_large_block_counts_as_one(void) {
  char *block = take_some(3);
  CHECK_EQ(lm_region_live_pages(block), 3);
  CHECK_EQ(lm_region_live_pages(block + PAGE), 0);
  CHECK_EQ(lm_region_live_pages(block + 16), 0);
  CHECK(!lm_pool_give_large(block + PAGE));
  give(block);
  CHECK(!lm_pool_give_large(block));
  lm_pool_validate(pool);
}

static void a_page_is_free_when_nobody_has_it(void) {
  char *block = take_some(2);
  CHECK(!lm_pool_is_free(block + PAGE));
  CHECK(lm_pool_is_free(block - PAGE));
  give(block);
  CHECK(lm_pool_is_free(block + PAGE));
}

/* ---- Growth and shrinking ---- */

static void a_block_grows_into_the_free_pages_behind_it(void) {
  char *a = take_some(4), *b = take_some(4);
  CHECK_EQ(b + 4 * PAGE, a);
  CHECK(!lm_pool_resize_large(b, 5));
  CHECK_EQ(lm_region_live_pages(b), 4);
  give(a);
  CHECK(lm_pool_resize_large(b, 6));
  lm_pool_validate(pool);
  CHECK_EQ(lm_region_live_pages(b), 6);
  CHECK(!lm_pool_is_free(b + 5 * PAGE));
  CHECK(lm_pool_is_free(b + 6 * PAGE));
}

static void a_block_does_not_grow_beyond_its_region(void) {
  char *block = take_some(2);
  CHECK(!lm_pool_resize_large(block, 3));
  CHECK_EQ(pool->large_page_count, 2);
}

static void a_block_that_shrinks_gives_its_tail_back_dirty(void) {
  char *block = take_some(8);
  CHECK(lm_pool_resize_large(block, 3));
  lm_pool_validate(pool);
  CHECK_EQ(dirty_pages(), 5);
  CHECK_EQ(pool->large_page_count, 3);
  CHECK(lm_pool_is_free(block + 3 * PAGE));
}

/* ---- What is known of the contents ---- */

static void fresh_memory_is_known_to_be_zero(void) {
  bool zero = false;
  char *block = take_large(4, PAGE, &zero);
  CHECK(zero && is_zero(block, 4 * PAGE));
}

static void memory_of_another_block_is_not_taken_for_zero(void) {
  bool zero = true;
  char *block = take_some(4);
  give(block);
  CHECK_EQ(dirty_pages(), 4);
  CHECK_EQ(take_large(4, PAGE, &zero), block);
  CHECK(!zero);
  CHECK_EQ(dirty_pages(), 0);
}

static void one_dirty_page_makes_the_run_dirty_and_only_it_is_cleared(void) {
  bool zero = true;
  char *block = take_some(1);
  memset(block, 1, PAGE);
  give(block);
  char *run = take_large(3, PAGE, &zero);
  CHECK_EQ(run + 2 * PAGE, block);
  CHECK(!zero);
  memset(run, 2, PAGE); /* to see that it is left alone */
  lm_pool_clear_large(run, 3);
  CHECK(is_zero(block, PAGE));
  CHECK_EQ(run[0], 2);
}

static void a_spans_untouched_pages_stay_known_to_be_zero(void) {
  uint64_t dirty;
  char *span = take_span(4, &dirty);
  CHECK_EQ(dirty, 0);
  size_t touched = LM_SLICE_BYTES + PAGE, touched_pages = touched >> lm_os.page_shift;
  make_accessible(span, touched);
  memset(span, 1, touched);
  lm_pool_give_slices(span, 4, lm_bitmap_mask(0, 0, touched_pages));
  lm_pool_validate(pool);
  CHECK_EQ(dirty_pages(), touched_pages);
  CHECK(take_span(4, &dirty) == span);
  CHECK_EQ(dirty, lm_bitmap_mask(0, 0, touched_pages));
  lm_pool_give_slices(span, 4, dirty);
  CHECK(take_span(1, &dirty) == span && dirty == lm_bitmap_mask(0, 0, lm_pages_per_slice()));
  CHECK(take_span(3, &dirty) == span + LM_SLICE_BYTES && dirty == 1);
}

static void pages_that_a_span_has_not_touched_are_not_dirty_when_it_goes(void) {
  uint64_t dirty;
  char *span = take_span(1, &dirty);
  lm_pool_give_slices(span, 1, 1);
  lm_pool_validate(pool);
  CHECK_EQ(dirty_pages(), 1);
}

static void pages_that_were_moved_away_are_fresh(void) {
  bool zero;
  char *block = take_some(4);
  CHECK_EQ(lm_os_purge(block, 4 * PAGE), 0);
  lm_pool_forget_large(block);
  lm_pool_validate(pool);
  CHECK_EQ(pool->large_count + pool->large_page_count + dirty_pages(), 0);
  CHECK(take_large(4, PAGE, &zero) == block && zero);
}

/* ---- Purge ---- */

static void trim_gives_everything_back_and_it_reads_as_zero(void) {
  bool zero;
  char *block = take_some(7);
  memset(block, 1, 7 * PAGE);
  give(block);
  CHECK(lm_pool_trim(0));
  lm_pool_validate(pool);
  CHECK_EQ(dirty_pages(), 0);
  CHECK_EQ(pool->purged_page_count, 7);
  CHECK(take_large(7, PAGE, &zero) == block && zero && is_zero(block, 7 * PAGE));
  CHECK(!lm_pool_trim(0));
}

static void trim_leaves_what_it_is_asked_to_keep(void) {
  char *block = take_some(8);
  give(block);
  CHECK(!lm_pool_trim(8 * PAGE));
  CHECK_EQ(dirty_pages(), 8);
  CHECK(lm_pool_trim(8 * PAGE - 1));
}

static void trim_leaves_used_pages_alone(void) {
  char *a = take_some(2), *b = take_some(2), *c = take_some(2);
  memset(b, 7, 2 * PAGE);
  give(a), give(c);
  CHECK(lm_pool_trim(0));
  lm_pool_validate(pool);
  CHECK_EQ(pool->purge_count, 2);
  for (size_t i = 0; i < 2 * PAGE; i++) CHECK_EQ(b[i], 7);
}

static void a_purge_that_fails_changes_nothing_and_ends(void) {
  bool zero = true;
  char *block = take_some(3);
  memset(block, 1, 3 * PAGE);
  give(block);
  lm_fault_countdown = 0;
  CHECK(!lm_pool_trim(0));
  lm_pool_validate(pool);
  CHECK_EQ(dirty_pages(), 3);
  CHECK_EQ(pool->purge_count, 0);
  CHECK(take_large(3, PAGE, &zero) == block && !zero);
}

/* That many purge delays from now, and a little. */
static uint64_t later_ms(double delays) {
  return lm_os_clock_ms() + (uint64_t)(delays * (double)lm_options.purge_delay_ms) + 20;
}

static bool turn_pool(uint64_t now_ms, size_t effort) { return lm_pool_tick(now_ms, &effort); }

static void tick_after(double delays) {
  turn_pool(later_ms(delays), SIZE_MAX / 2);
  lm_pool_validate(pool);
}

static void the_clock_does_nothing_before_its_time(void) {
  give(take_some(3));
  turn_pool(lm_os_clock_ms(), SIZE_MAX / 2);
  CHECK_EQ(dirty_pages(), 3);
  for (size_t w = 0; w < LM_BITMAP_WORDS(LM_REGION_MAX_PAGES); w++)
    CHECK_EQ(pool->directory[0]->aged_pages[w], 0);
}

static void what_is_free_for_two_turns_of_the_clock_goes_back(void) {
  give(take_some(3));
  tick_after(0.5);
  CHECK_EQ(dirty_pages(), 3);
  tick_after(1);
  CHECK_EQ(dirty_pages(), 0);
}

static void what_was_used_between_two_turns_stays_for_one_more(void) {
  char *block = take_some(3);
  give(block);
  tick_after(0.5);
  CHECK_EQ(take_some(3), block);
  give(block);
  tick_after(1);
  CHECK_EQ(dirty_pages(), 3);
  tick_after(1.5);
  CHECK_EQ(dirty_pages(), 0);
}

static void the_clock_purges_runs_of_any_number(void) {
  char *blocks[40];
  for (int i = 0; i < 40; i++) blocks[i] = take_some(1 + (size_t)i % 3);
  for (int i = 0; i < 40; i += 2) give(blocks[i]);
  tick_after(0.5);
  tick_after(1);
  CHECK_EQ(dirty_pages(), 0);
  CHECK_EQ(pool->purge_count, 20);
}

static void a_turn_of_the_clock_goes_on_in_the_next_call(void) {
  char *blocks[6];
  for (int i = 0; i < 6; i++) blocks[i] = take_some(2);
  for (int i = 0; i < 6; i += 2) give(blocks[i]);
  CHECK_EQ(dirty_pages(), 6);
  tick_after(0.5);
  uint64_t due_ms = later_ms(1);
  for (size_t left = 6; left > 0; left--) {
    CHECK(turn_pool(due_ms, 1));
    CHECK_EQ(dirty_pages(), left - 1);
    lm_pool_validate(pool);
  }
  CHECK(!turn_pool(due_ms, 1));
}

static void what_is_freed_while_the_clock_turns_stays_for_the_next_turn(void) {
  char *first = take_some(3), *kept = take_some(3), *second = take_some(3);
  take_some(3);
  give(first);
  tick_after(0.5);
  CHECK(turn_pool(later_ms(1), 1));
  give(second);
  while (turn_pool(lm_os_clock_ms(), 1)) {}
  CHECK_EQ(dirty_pages(), 3);
  give(kept);
}

static void the_more_is_free_the_faster_the_clock_turns(void) {
  CHECK_EQ(calm_page_count(pool), CALM_SHARED_BYTES >> lm_os.page_shift);
  lm_pool_thread_count = CALM_THREADS * lm_pool_count;
  size_t calm = calm_page_count(pool);
  CHECK_EQ(calm, CALM_SHARED_BYTES / lm_pool_thread_count >> lm_os.page_shift);
  atomic_store(&pool->dirty_page_count, calm);
  CHECK_EQ(turn_ms(pool), lm_options.purge_delay_ms / 2);
  atomic_store(&pool->dirty_page_count, 2 * calm);
  CHECK_EQ(turn_ms(pool), lm_options.purge_delay_ms / 4);
  lm_pool_thread_count = 4 * CALM_THREADS * lm_pool_count;
  atomic_store(&pool->dirty_page_count, 2 * calm_page_count(pool));
  CHECK_EQ(turn_ms(pool), lm_options.purge_delay_ms / 4 / 16);
  lm_pool_thread_count = 100000; /* as many as there may be */
  CHECK_EQ(turn_ms(pool), 0);
  atomic_store(&pool->dirty_page_count, SIZE_MAX);
  CHECK_EQ(turn_ms(pool), 0);
  lm_pool_thread_count = 0;
  atomic_store(&pool->dirty_page_count, 0);
}

static void much_more_than_is_calm_goes_at_once_whatever_the_credit(void) {
  enum { BLOCKS = 24 };
  char *blocks[BLOCKS];
  size_t page_count = LM_PURGED_BY_CALL_BYTES >> lm_os.page_shift;
  for (int i = 0; i < BLOCKS; i++) blocks[i] = take_some(page_count);
  lm_pool_thread_count = CALM_SHARED_BYTES / CALM_BYTES;
  pool->credit_page_count = INT32_MIN;
  pool->turned_ms = lm_os_clock_ms();
  for (int i = 0; i < BLOCKS; i++) {
    give(blocks[i]);
    CHECK_THAT(dirty_pages(), <=, DIRTY_MAX_CALM * calm_page_count(pool) + 2 * page_count);
  }
  CHECK_THAT(dirty_pages(), >, calm_page_count(pool));
  lm_pool_thread_count = 0;
}

/* However often it gives something. */
static void early_purges_of_one_millisecond_are_bounded(void) {
  enum { BLOCKS = 12, GIVEN = 8 };
  char *blocks[BLOCKS];
  size_t page_count = LM_PURGED_BY_CALL_BYTES >> lm_os.page_shift;
  for (int i = 0; i < BLOCKS; i++) blocks[i] = take_some(page_count);
  pool->credit_page_count = INT32_MIN;
  for (int i = 0; i < BLOCKS; i++) give(blocks[i]);
  CHECK_EQ(dirty_pages(), BLOCKS * page_count);
  pool->credit_page_count = 1;
  lm_lock_take(&pool->lock);
  uint64_t begin_ms = lm_os_clock_ms();
  for (int i = 0; i < GIVEN; i++) lm_purge_early(pool, 1);
  uint64_t passed_ms = lm_os_clock_ms() - begin_ms;
  lm_lock_free(&pool->lock);
  size_t purged_count = BLOCKS * page_count - dirty_pages();
  CHECK_THAT(purged_count, >, lm_purge_effort() / 2);
  CHECK_THAT(purged_count, <=, GIVEN + lm_purge_effort() * (2 + passed_ms));
}

/* How many calls of the system's purge all free pages of the region. */
static size_t count_purges(struct lm_region *region, enum purge what) {
  uint64_t before = pool->purge_count;
  size_t from = 0;
  lm_lock_take(&pool->lock);
  while (purge_run(region, what, SIZE_MAX, &from) != 0) {}
  lm_lock_free(&pool->lock);
  lm_pool_validate(pool);
  return (size_t)(pool->purge_count - before);
}

static void a_purge_passes_over_clean_pages(void) {
  char *third = take_some(2), *second = take_some(3), *first = take_some(2), *lowest = take_some(4);
  struct lm_region *region = lm_region_of(first);
  size_t page = lm_page_of(first);
  int64_t credit = pool->credit_page_count;
  give(second);
  CHECK_EQ(count_purges(region, PURGE_EARLY), 1);
  give(first);
  give(third);
  uint64_t purged_before = pool->purged_page_count;
  CHECK_EQ(count_purges(region, PURGE_EARLY), region->decommits ? 2 : 1);
  CHECK_EQ(pool->purged_page_count - purged_before, 4);
  CHECK_EQ(dirty_pages(), 0);
  CHECK_EQ(pool->credit_page_count, credit); /* nobody has taken a page meanwhile */
  CHECK_EQ(lm_bitmap_count(region->early_pages, page, page + 7), 7);
  char *all = take_some(7);
  CHECK_EQ(all, first);
  CHECK_EQ(credit - pool->credit_page_count, 7);
  give(lowest);
}

static void but_not_over_those_that_are_in_use_or_not_committed(void) {
  bool zero;
  size_t alignment = 4 * LM_SLICE_BYTES;
  char *third = take_some(2), *used = take_some(3), *first = take_some(2);
  give(first);
  give(third);
  CHECK_EQ(count_purges(lm_region_of(used), PURGE_ALL), 2);
  give(used);
  lm_pool_trim(0);
  char *high = take_large(1, alignment, &zero), *low = take_large(1, alignment, &zero);
  struct lm_region *region = lm_region_of(low);
  size_t from = lm_slice_of_page(lm_page_of(low)), to = lm_slice_of_page(lm_page_of(high));
  bool bare = lm_bitmap_find_clear(region->committed_slices, from, to) != to;
  CHECK_EQ(lm_region_of(high), region);
  give(high);
  give(low);
  CHECK_EQ(count_purges(region, PURGE_ALL), bare || region->decommits ? 2 : 1);
}

static void without_a_purge_delay_nothing_goes_back(void) {
  lm_options.purge_delay_ms = 0;
  give(take_some(3));
  tick_after(1);
  turn_pool(UINT64_MAX, SIZE_MAX / 2);
  CHECK_EQ(dirty_pages(), 3);
}

static void an_empty_region_ends_though_no_page_is_dirty(void) {
  bool zero;
  size_t pages = LM_LARGE_MAX_BYTES >> lm_os.page_shift;
  char *blocks[8];
  for (int i = 0; i < 8; i++) blocks[i] = take_large(pages, PAGE, &zero);
  CHECK_THAT(pool->region_count, >=, 2);
  for (int i = 0; i < 8; i++) give(blocks[i]);
  lm_pool_trim(0);
  for (int i = 0; i < 8; i++) blocks[i] = take_large(pages, PAGE, &zero);
  for (int i = 0; i < 8; i++) lm_pool_forget_large(blocks[i]);
  tick_after(0.5);
  tick_after(1);
  CHECK_EQ(dirty_pages(), 0);
  CHECK_EQ(pool->region_count, 1);
}

/* One slice is free in each of so many regions. */
static void fill_regions(size_t count) {
  uint64_t dirty;
  char *last = NULL;
  while (pool->region_count <= count) last = lm_pool_take_slices(pool, 1, &dirty);
  lm_pool_give_slices(last, 1, 0);
  lm_pool_trim(0);
  CHECK_EQ(pool->region_count, count);
  LM_FOR_EACH_REGION(pool, region) {
    char *start = (char *)region + (region->first_slice + 5) * LM_SLICE_BYTES;
    lm_pool_give_slices(start, 1, 0);
  }
  lm_pool_validate(pool);
}

static void a_region_without_a_free_slice_is_looked_into_once(void) {
  fill_regions(3);
  CHECK_EQ(lm_directory_find(pool, 0, lm_pages_per_slice(), true), 0);
  for (size_t i = 0; i < 3; i++) {
    uint64_t dirty;
    CHECK_EQ(lm_region_of(take_span(1, &dirty)), pool->directory[i]);
  }
  CHECK_EQ(pool->region_count, 3);
  uint64_t dirty;
  CHECK_EQ(lm_region_of(take_span(1, &dirty)), pool->directory[3]);
  for (size_t i = 0; i < 3; i++) CHECK(!pool->has_slice[i]);
  CHECK_EQ(lm_directory_find(pool, 0, lm_pages_per_slice(), true), 3);
}

static void slices_are_found_where_some_have_been_given_back(void) {
  fill_regions(3);
  uint64_t dirty;
  for (size_t i = 0; i < 4; i++) take_span(1, &dirty);
  struct lm_region *region = pool->directory[1];
  char *start = (char *)region + (region->first_slice + 9) * LM_SLICE_BYTES;
  lm_pool_give_slices(start, 1, 0);
  CHECK_EQ(take_span(1, &dirty), start);
}

static void a_slice_with_pages_of_the_process_is_taken_before_a_fresh_one(void) {
  uint64_t dirty;
  char *first = take_span(1, &dirty), *second = take_span(1, &dirty), *third = take_span(1, &dirty);
  make_accessible(second, LM_SLICE_BYTES);
  lm_pool_give_slices(first, 1, 0);
  lm_pool_give_slices(second, 1, 1);
  CHECK_EQ(take_span(1, &dirty), second);
  CHECK_EQ(dirty, 1);
  CHECK_EQ(take_span(1, &dirty), first);
  CHECK_EQ(dirty, 0);
  (void)third;
}

/* Blocks of `pages`, which stand at multiples of a quarter of a region. */
static size_t fill_with_aligned(char **blocks, size_t most, size_t pages, size_t regions) {
  size_t count = 0;
  bool zero;
  while (pool->region_count <= regions && count < most)
    blocks[count++] = take_large(pages, LM_REGION_BYTES / 4, &zero);
  give(blocks[--count]);
  lm_pool_trim(0);
  CHECK_EQ(pool->region_count, regions);
  return count;
}

static void aligned_blocks_leave_no_place_for_another(void) {
  enum { REGIONS = 3 };
  size_t quarter = LM_REGION_BYTES / 4 / PAGE, gap = quarter / 3, pages = quarter - gap;
  char *blocks[4 * REGIONS];
  bool zero;
  size_t count = fill_with_aligned(blocks, 4 * REGIONS, pages, REGIONS);
  for (size_t i = 0; i < count; i++) CHECK_EQ((uintptr_t)blocks[i] % (LM_REGION_BYTES / 4), 0);
  CHECK_EQ(count, 3 * REGIONS); /* the first quarter begins with the header */
  give(blocks[count / 2]);
  CHECK_EQ(take_large(pages, LM_REGION_BYTES / 4, &zero), blocks[count / 2]);
}

static void a_gap_of_an_aligned_blocks_own_length_is_taken(void) {
  enum { REGIONS = 3 };
  size_t quarter = LM_REGION_BYTES / 4 / PAGE;
  char *blocks[4 * REGIONS];
  bool zero;
  size_t count = fill_with_aligned(blocks, 4 * REGIONS, quarter, REGIONS);
  CHECK_THAT(count, >=, 3 * REGIONS);
  give(blocks[count / 2]);
  CHECK_EQ(take_large(quarter, LM_REGION_BYTES / 4, &zero), blocks[count / 2]);
}

static void *reserve_nothing(void *context, size_t size, size_t alignment) {
  (void)context, (void)size, (void)alignment;
  return NULL;
}

/* Though there is room in a region of the system's. */
static void a_pool_with_a_provider_takes_nothing_of_the_systems(void) {
  static const struct loam_page_provider provider = {.reserve = reserve_nothing};
  uint64_t dirty;
  take_span(1, &dirty);
  lm_pool_provide(pool, &provider);
  CHECK_EQ(lm_pool_take_slices(pool, 1, &dirty), NULL);
  lm_pool_provide(pool, NULL);
  take_span(1, &dirty);
}

/* More regions than the directory begins with; some in the middle end. */
static void the_directory_knows_all_regions_and_their_longest_runs(void) {
  enum { REGIONS = 3 * ROOM_MIN };
  size_t pages = LM_LARGE_MAX_BYTES >> lm_os.page_shift;
  static char *blocks[REGIONS];
  bool zero;
  for (size_t i = 0; i < REGIONS; i++) blocks[i] = take_large(pages, PAGE, &zero);
  CHECK_EQ(pool->region_count, REGIONS);
  CHECK_EQ(lm_directory_find(pool, 0, pages, false), REGIONS - 1); /* where it has not been tried */
  for (size_t i = 0; i < REGIONS; i += 5) give(blocks[i]);
  CHECK_EQ(lm_directory_find(pool, 0, pages, false), 0);
  CHECK_EQ(lm_directory_find(pool, 1, pages, false), 5);
  /* A search that has found none in a group passes over it. */
  const size_t most = UINT16_MAX;
  CHECK_EQ(lm_directory_find(pool, 0, most, false), REGIONS);
  CHECK_THAT(pool->group_run_limits[0], <, most);
  CHECK_THAT(pool->group_run_limits[0], >=, pages);
  lm_pool_trim(0);
  for (size_t i = 0; i < pool->region_count; i++) CHECK_EQ(pool->directory[i]->number, i);
  lm_pool_validate(pool);
}

static void an_empty_region_ends_but_never_the_last_one(void) {
  size_t pages = LM_LARGE_MAX_BYTES >> lm_os.page_shift;
  char *blocks[8];
  for (int i = 0; i < 8; i++) blocks[i] = take_some(pages);
  CHECK_THAT(pool->region_count, >=, 2);
  struct lm_region *last = lm_region_of(blocks[7]);
  for (int i = 0; i < 8; i++) give(blocks[i]);
  CHECK(lm_pool_trim(0));
  lm_pool_validate(pool);
  CHECK_EQ(pool->region_count, 1);
  CHECK(!lm_region_holds((uintptr_t)last) || pool->directory[0] == last);
}

static void one_call_ends_few_regions(void) {
  enum { REGIONS = 3 * ENDED_PER_TURN };
  static char *blocks[REGIONS];
  bool zero;
  for (size_t i = 0; i < REGIONS; i++)
    blocks[i] = take_large(LM_LARGE_MAX_BYTES >> lm_os.page_shift, PAGE, &zero);
  CHECK_EQ(pool->region_count, REGIONS);
  for (size_t i = 0; i < REGIONS; i++) give(blocks[i]);
  uint64_t now_ms = lm_os_clock_ms() + lm_options.purge_delay_ms;
  size_t count_before = pool->region_count;
  for (bool more = true; more; count_before = pool->region_count) {
    more = turn_pool(now_ms, SIZE_MAX / 2); /* the first one ages what is free */
    CHECK_THAT(count_before - pool->region_count, <=, ENDED_PER_TURN);
    lm_pool_validate(pool);
  }
  while (turn_pool(now_ms + lm_options.purge_delay_ms, SIZE_MAX / 2)) {}
  CHECK_EQ(pool->region_count, 1);
}

/* ---- Out of memory ---- */

static void no_region_means_null_and_no_change(void) {
  bool zero;
  lm_fault_countdown = 0;
  CHECK_EQ(lm_pool_take_large(pool, 1, PAGE, &zero), NULL);
  CHECK_EQ(pool->region_count, 0);
  take_some(1);
}

static void a_run_that_cannot_be_committed_leaves_no_region_behind(void) {
  bool zero;
  lm_os.overcommit = false;
  char *block = NULL;
  for (long fault = 0; block == NULL; fault++) {
    CHECK_THAT(fault, <, 10);
    CHECK_EQ(pool->region_count, 0);
    lm_pool_validate(pool);
    lm_fault_countdown = fault; /* reservation, header, tags, and last the pages of the run */
    block = lm_pool_take_large(pool, 1, PAGE, &zero);
  }
  lm_fault_countdown = -1;
  lm_pool_validate(pool);
  take_some(1);
}

static void growth_that_cannot_be_committed_fails_and_changes_nothing(void) {
  bool zero;
  lm_os.overcommit = false;
  char *block = take_large(1, 4 * LM_SLICE_BYTES, &zero);
  lm_fault_countdown = 0;
  CHECK(!lm_pool_resize_large(block, (2 * LM_SLICE_BYTES) >> lm_os.page_shift));
  CHECK(lm_fault_countdown < 0);
  CHECK_EQ(lm_region_live_pages(block), 1);
  lm_pool_validate(pool);
}

static void run_all(void) {
  RUN(spans_come_from_the_low_end_and_large_blocks_from_the_high_end);
  RUN(runs_do_not_overlap);
  RUN(what_is_remembered_of_runs_is_rounded_to_the_safe_side);
  RUN(the_highest_run_of_each_length_is_found_whatever_comes_and_goes);
  RUN(blocks_that_come_and_go_are_found_wherever_there_is_room);
  RUN(a_hole_is_filled_before_new_room_is_taken);
  RUN(above_a_block_that_grows_is_a_gap);
  RUN(without_room_for_a_whole_gap_there_is_none);
  RUN(others_may_have_the_gap);
  RUN(a_block_has_the_alignment_that_was_asked_for);
  RUN(the_largest_alignment_and_size_fit_into_a_fresh_region);
  RUN(a_pool_that_is_full_gets_another_region);
  RUN(a_slice_that_a_large_block_uses_a_part_of_is_not_a_spans);
  RUN(only_the_start_of_a_large_block_counts_as_one);
  RUN(a_page_is_free_when_nobody_has_it);
  RUN(a_block_grows_into_the_free_pages_behind_it);
  RUN(a_block_does_not_grow_beyond_its_region);
  RUN(a_block_that_shrinks_gives_its_tail_back_dirty);
  RUN(fresh_memory_is_known_to_be_zero);
  RUN(memory_of_another_block_is_not_taken_for_zero);
  RUN(one_dirty_page_makes_the_run_dirty_and_only_it_is_cleared);
  RUN(a_spans_untouched_pages_stay_known_to_be_zero);
  RUN(pages_that_a_span_has_not_touched_are_not_dirty_when_it_goes);
  RUN(pages_that_were_moved_away_are_fresh);
  RUN(trim_gives_everything_back_and_it_reads_as_zero);
  RUN(trim_leaves_what_it_is_asked_to_keep);
  RUN(trim_leaves_used_pages_alone);
  RUN(a_purge_that_fails_changes_nothing_and_ends);
  RUN(the_clock_does_nothing_before_its_time);
  RUN(what_is_free_for_two_turns_of_the_clock_goes_back);
  RUN(what_was_used_between_two_turns_stays_for_one_more);
  RUN(the_clock_purges_runs_of_any_number);
  RUN(a_turn_of_the_clock_goes_on_in_the_next_call);
  RUN(what_is_freed_while_the_clock_turns_stays_for_the_next_turn);
  RUN(the_more_is_free_the_faster_the_clock_turns);
  RUN(much_more_than_is_calm_goes_at_once_whatever_the_credit);
  RUN(early_purges_of_one_millisecond_are_bounded);
  RUN(a_purge_passes_over_clean_pages);
  RUN(but_not_over_those_that_are_in_use_or_not_committed);
  RUN(without_a_purge_delay_nothing_goes_back);
  RUN(an_empty_region_ends_though_no_page_is_dirty);
  RUN(a_region_without_a_free_slice_is_looked_into_once);
  RUN(slices_are_found_where_some_have_been_given_back);
  RUN(a_slice_with_pages_of_the_process_is_taken_before_a_fresh_one);
  RUN(aligned_blocks_leave_no_place_for_another);
  RUN(a_gap_of_an_aligned_blocks_own_length_is_taken);
  RUN(a_pool_with_a_provider_takes_nothing_of_the_systems);
  RUN(the_directory_knows_all_regions_and_their_longest_runs);
  RUN(an_empty_region_ends_but_never_the_last_one);
  RUN(one_call_ends_few_regions);
  RUN(no_region_means_null_and_no_change);
  RUN(a_run_that_cannot_be_committed_leaves_no_region_behind);
  RUN(growth_that_cannot_be_committed_fails_and_changes_nothing);
}

int main(void) {
  unit_run_for_each_commit(run_all);
  puts("with OS pages of 64 KiB:");
  lm_os.overcommit = true;
  lm_os.page_bytes = 65536;
  lm_os.page_shift = 16;
  run_all();
  return UNIT_RESULT();
}
