/* Middle blocks: which chunk they come from, what a heap keeps, what it purges, and how they go
 * from heap to heap. */
#include "unit.h"

#define KEEP_PAGES (KEEP_BYTES / PAGE)

static char *take_block(struct lm_heap *heap, size_t pages) {
  char *block = lm_middle_take(heap, pages, false);
  CHECK(block != NULL);
  lm_middle_validate(heap);
  return block;
}

static void give_back(struct lm_heap *heap, char *block) {
  CHECK(lm_middle_give(heap, block));
  lm_middle_validate(heap);
}

static size_t cached_count(const struct lm_heap *heap) {
  return (size_t)((ptrdiff_t)cache_limit(heap->middle.used_count) - heap->middle.cache_room);
}

/* As a thread with the heap `sender` frees it. */
static void send(struct lm_heap *sender, char *block) {
  CHECK(lm_middle_send(block));
  lm_remote_free(sender, (struct lm_block *)block, LM_CLASS_MIDDLE);
}

static struct lm_chunk *chunk_of(const char *block) { return lm_chunk_of(block); }

/* ---- Taking and freeing ---- */

static void blocks_of_a_heap_stand_in_its_own_chunk(void) {
  struct lm_heap *heap = new_heap(), *other = new_heap();
  char *first = take_block(heap, 10), *second = take_block(heap, 20), *theirs = take_block(other, 10);
  CHECK_EQ(chunk_of(first), chunk_of(second));
  CHECK(chunk_of(theirs) != chunk_of(first));
  CHECK_EQ(lm_pools[0].chunk_count, 2);
  lm_pool_validate(&lm_pools[0]);
}

static void the_fullest_chunk_that_will_do_is_filled_first(void) {
  struct lm_heap *heap = new_heap();
  size_t fill = lm_chunk_pages() / 64;
  char *blocks[64];
  for (size_t i = 0; i < 64; i++) blocks[i] = take_block(heap, fill);
  char *second_chunk = take_block(heap, fill);
  CHECK(chunk_of(second_chunk) != chunk_of(blocks[0]));
  give_back(heap, blocks[10]);
  CHECK_EQ(take_block(heap, fill), blocks[10]);
  give_back(heap, blocks[20]);
  CHECK_EQ(chunk_of(take_block(heap, fill + 1)), chunk_of(second_chunk));
}

static void one_empty_chunk_is_kept_and_more_are_not(void) {
  struct lm_heap *heap = new_heap();
  size_t most = LM_CHUNK_RUN_MAX, per_chunk = lm_chunk_pages() / most;
  char *blocks[3 * 16];
  size_t count = 3 * per_chunk;
  for (size_t i = 0; i < count; i++) blocks[i] = take_block(heap, most);
  CHECK_EQ(lm_pools[0].chunk_count, 3);
  for (size_t i = 0; i < count; i++) give_back(heap, blocks[i]);
  CHECK_EQ(lm_pools[0].chunk_count, 1);
  CHECK_EQ(heap->middle.empty_chunk_count, 1);
}

static void the_block_freed_last_is_taken_first(void) {
  struct lm_heap *heap = new_heap();
  char *first = take_block(heap, 5), *second = take_block(heap, 5);
  memset(second, 7, 5 * PAGE);
  give_back(heap, first);
  give_back(heap, second);
  CHECK_EQ(cached_count(heap), 10);
  CHECK_EQ(lm_middle_take(heap, 5, true), second);
  check_zero(second, 5 * PAGE);
  CHECK_EQ(take_block(heap, 5), first);
  CHECK_EQ(cached_count(heap), 0);
}

static void what_is_cached_is_used_for_other_lengths_before_a_new_chunk_is_taken(void) {
  struct lm_heap *heap = new_heap();
  size_t count = lm_chunk_pages() / 8;
  char *blocks[64];
  for (size_t i = 0; i < count; i++) blocks[i] = take_block(heap, 8);
  give_back(heap, blocks[10]);
  give_back(heap, blocks[11]);
  CHECK_EQ(cached_count(heap), 16);
  CHECK_EQ(take_block(heap, 16), blocks[10]);
  CHECK_EQ(lm_pools[0].chunk_count, 1);
}

static void a_cached_block_a_fifth_longer_will_do(void) {
  struct lm_heap *heap = new_heap();
  char *block = take_block(heap, 18);
  give_back(heap, block);
  CHECK(take_block(heap, 14) != block);
  CHECK(take_block(heap, 19) != block);
  CHECK_EQ(take_block(heap, 15), block);
  CHECK_EQ(lm_region_live_pages(block), 18);
  give_back(heap, block);
  CHECK_EQ(cached_count(heap), 18);
}

static void only_starts_of_blocks_can_be_freed(void) {
  struct lm_heap *heap = new_heap();
  char *block = take_block(heap, 4);
  CHECK(!lm_middle_give(heap, block + PAGE));
  CHECK(!lm_middle_give(heap, block + 16));
  CHECK(!lm_middle_send(block + PAGE));
  give_back(heap, block);
  CHECK(!lm_middle_give(heap, block));
  CHECK(!lm_middle_send(block));
}

static void a_block_on_its_way_cannot_be_freed_again(void) {
  struct lm_heap *heap = new_heap(), *other = new_heap();
  char *block = take_block(heap, 4);
  send(other, block);
  CHECK(!lm_middle_send(block));
  CHECK(!lm_middle_give(heap, block));
  CHECK(lm_large_is_free(block));
}

static void a_block_is_resized_where_it_stands(void) {
  struct lm_heap *heap = new_heap();
  char *block = take_block(heap, 10);
  CHECK(lm_middle_resize(heap, block, 30));
  lm_middle_validate(heap);
  CHECK(lm_middle_resize(heap, block, 12));
  lm_middle_validate(heap);
  CHECK_EQ(lm_large_usable_bytes(block), 12 * PAGE);
  CHECK(!lm_middle_resize(heap, block, LM_CHUNK_RUN_MAX + 1));
}

static void without_memory_for_a_chunk_there_is_no_block(void) {
  struct lm_heap *heap = new_heap();
  lm_fault_countdown = 0;
  lm_fault_more = 100;
  CHECK_EQ(lm_middle_take(heap, 10, false), NULL);
  lm_middle_validate(heap);
}

/* ---- From heap to heap ---- */

static void remote_frees_come_back_when_the_owner_takes(void) {
  struct lm_heap *heap = new_heap(), *other = new_heap();
  char *first = take_block(heap, 10), *second = take_block(heap, 10);
  send(other, first);
  send(other, second);
  lm_remote_flush(other);
  CHECK_EQ(cached_count(heap), 0);
  char *next = take_block(heap, 10);
  CHECK(next == first || next == second);
  CHECK_EQ(heap->middle.used_count - cached_count(heap), 10);
}

static void a_chunk_with_blocks_is_orphaned_and_adopted(void) {
  struct lm_heap *heap = new_heap();
  char *block = take_block(heap, 10), *other_block = take_block(heap, 10);
  give_back(heap, other_block);
  end_heap(heap);
  CHECK_EQ(lm_tag_of(block), LM_OWNER_ORPHAN << LM_TAG_OWNER_SHIFT | LM_CLASS_MIDDLE);
  struct lm_heap *next = new_heap();
  CHECK_EQ(take_block(next, 10), other_block);
  give_back(next, block);
  CHECK_EQ(lm_pools[0].chunk_count, 1);
}

static void the_last_block_of_an_orphan_gives_the_chunk_back(void) {
  struct lm_heap *heap = new_heap(), *other = new_heap();
  char *first = take_block(heap, 10), *second = take_block(heap, 10);
  end_heap(heap);
  send(other, first);
  lm_remote_flush(other);
  CHECK_EQ(lm_pools[0].chunk_count, 1);
  send(other, second);
  lm_remote_flush(other);
  CHECK_EQ(lm_pools[0].chunk_count, 0);
  lm_pool_validate(&lm_pools[0]);
}

static void who_takes_middle_blocks_adopts_the_chunk_whose_block_it_frees(void) {
  struct lm_heap *heap = new_heap(), *other = new_heap();
  char *first = take_block(heap, 10), *second = take_block(heap, 10);
  take_block(other, 10);
  end_heap(heap);
  send(other, first);
  lm_remote_flush(other);
  lm_middle_validate(other);
  CHECK_EQ(lm_tag_of(second), other->tag | LM_TAG_CHUNK | LM_CLASS_MIDDLE);
  CHECK_EQ(other->middle.used_count, 30);
  CHECK_EQ(take_block(other, 10), first);
  give_back(other, second);
  lm_pool_validate(&lm_pools[0]);
}

static void who_only_frees_middle_blocks_adopts_no_more_chunks(void) {
  struct lm_heap *heaps[2] = {new_heap(), new_heap()}, *other = new_heap();
  char *blocks[2][3];
  take_block(other, 10);
  for (int i = 0; i < 2; i++) {
    for (int j = 0; j < 3; j++) blocks[i][j] = take_block(heaps[i], 10);
    end_heap(heaps[i]);
    send(other, blocks[i][0]);
    lm_remote_flush(other);
  }
  CHECK_EQ(lm_load_relaxed(&lm_span_of(blocks[0][2])->owner), other);
  CHECK_EQ(lm_load_relaxed(&lm_span_of(blocks[1][2])->owner), NULL);
  take_block(other, 20);
  send(other, blocks[1][1]);
  lm_remote_flush(other);
  CHECK_EQ(lm_load_relaxed(&lm_span_of(blocks[1][2])->owner), other);
  lm_middle_validate(other);
}

static void an_empty_chunk_is_no_orphan(void) {
  struct lm_heap *heap = new_heap();
  give_back(heap, take_block(heap, 10));
  end_heap(heap);
  CHECK_EQ(lm_pools[0].chunk_count, 0);
}

/* ---- Purging ---- */

static void what_is_free_beyond_what_is_kept_is_purged_at_once(void) {
  struct lm_heap *heap = new_heap();
  char *blocks[30];
  for (int i = 0; i < 30; i++) blocks[i] = take_block(heap, 8);
  for (int i = 0; i < 30; i++) give_back(heap, blocks[i]);
  CHECK_THAT(heap->middle.dirty_count, <=, KEEP_PAGES + 240 / KEEP_FRACTION);
}

/* As far as one call may. */
static void go_on_once(struct lm_heap *heap) {
  size_t effort = lm_purge_effort();
  lm_middle_go_on(heap, &effort);
}

/* A tick, and all that it begins. */
static void tick_through(struct lm_heap *heap, uint64_t elapsed_ms) {
  lm_middle_tick(heap, elapsed_ms);
  while (heap->middle.ages) go_on_once(heap);
}

static void without_credit_only_the_clock_purges(void) {
  struct lm_heap *heap = new_heap();
  char *blocks[30];
  heap->middle.debt_count = SIZE_MAX / 2;
  for (int i = 0; i < 30; i++) blocks[i] = take_block(heap, 8);
  for (int i = 0; i < 30; i++) give_back(heap, blocks[i]);
  CHECK_EQ(heap->middle.dirty_count + cached_count(heap), 240);
  for (int i = 0; i < 4; i++) tick_through(heap, 0);
  CHECK_EQ(heap->middle.dirty_count, 0);
  CHECK_EQ(lm_pools[0].chunk_count, 0);
}

static bool purges_no_more_than_a_call_may(struct lm_heap *heap) {
  size_t before = heap->middle.dirty_count, cached_before = cached_count(heap);
  go_on_once(heap);
  lm_middle_validate(heap);
  size_t flushed = cached_before - cached_count(heap);
  return before + flushed - heap->middle.dirty_count <= lm_purge_effort() + EARLY_PAGES;
}

static void however_much_is_free_a_call_of_the_clocks_does_a_part(void) {
  enum { COUNT = 400 };
  static char *blocks[COUNT];
  struct lm_heap *heap = new_heap();
  heap->middle.debt_count = SIZE_MAX / 2;
  for (int i = 0; i < COUNT; i++) blocks[i] = take_block(heap, 8);
  for (int i = 0; i < COUNT; i++)
    if (i % 4 != 0) give_back(heap, blocks[i]);
  for (int round = 0; round < 2; round++) {
    for (int i = 0; i < 2; i++) lm_middle_tick(heap, 0);
    CHECK(heap->middle.ages);
    size_t call_count = 0;
    for (; heap->middle.ages; call_count++) CHECK(purges_no_more_than_a_call_may(heap));
    if (round == 1) CHECK_THAT(call_count, >=, 3);
  }
  CHECK_EQ(cached_count(heap), 0);
  CHECK_EQ(heap->middle.dirty_count, 0);
}

/* Chunks come and go, and change their lists, while a round is under way. */
static void a_round_passes_over_no_chunk_that_stays_and_ends(void) {
  enum { COUNT = 400 };
  static char *blocks[COUNT];
  struct lm_heap *heap = new_heap();
  heap->middle.debt_count = SIZE_MAX / 2;
  for (int round = 0; round < 20; round++) {
    for (int i = 0; i < COUNT; i++) blocks[i] = take_block(heap, 4 + (size_t)(i * 7 % 11));
    for (int i = 0; i < 2; i++) lm_middle_tick(heap, 0);
    size_t call_count = 0;
    for (int i = 0; heap->middle.ages || i < COUNT; i++) {
      if (i < COUNT) give_back(heap, blocks[i * 13 % COUNT]);
      if (i % 8 == 0 || i >= COUNT) go_on_once(heap);
      CHECK_THAT(++call_count, <, 10 * COUNT);
      lm_middle_validate(heap);
    }
  }
  for (int i = 0; i < 4; i++) tick_through(heap, 0);
  CHECK_EQ(heap->middle.dirty_count + heap->middle.used_count, 0);
}

static void pages_purged_early_and_used_again_are_owed(void) {
  struct lm_heap *heap = new_heap();
  char *blocks[30];
  for (int i = 0; i < 30; i++) blocks[i] = take_block(heap, 8);
  for (int i = 0; i < 30; i++) give_back(heap, blocks[i]);
  for (int i = 0; i < 30; i++) take_block(heap, 8);
  CHECK_THAT(heap->middle.debt_count, >, 100);
  size_t owed = heap->middle.debt_count;
  tick_through(heap, 500);
  CHECK_EQ(heap->middle.debt_count, owed - lm_min(owed, CREDIT_BYTES / PAGE / 2));
}

static void pages_purged_early_that_a_block_grows_into_are_owed(void) {
  struct lm_heap *heap = new_heap();
  char *blocks[30];
  for (int i = 0; i < 30; i++) blocks[i] = take_block(heap, 8);
  for (int i = 1; i < 30; i++) give_back(heap, blocks[i]);
  lm_middle_trim(heap);
  CHECK_EQ(heap->middle.debt_count, 0);
  CHECK(lm_middle_resize(heap, blocks[0], 16));
  CHECK_EQ(heap->middle.debt_count, 8);
}

/* Takes and gives back `count` blocks of 8 to 8 + `lengths` - 1 pages. */
static void take_and_give(struct lm_heap *heap, int count, int lengths) {
  char *blocks[200];
  for (int i = 0; i < count; i++) blocks[i] = take_block(heap, 8 + (size_t)(i % lengths));
  for (int i = 0; i < count; i++) give_back(heap, blocks[i]);
  lm_middle_validate(heap);
}

static void what_was_too_much_for_the_cache_is_cached_the_next_time(void) {
  struct lm_heap *heap = new_heap();
  take_and_give(heap, 200, 1);
  CHECK_THAT(heap->middle.used_count, <=, 20 * 8);
  CHECK_EQ(heap->middle.learning.learnt_count, 0);
  take_and_give(heap, 200, 1);
  CHECK_THAT(heap->middle.learning.learnt_count, >=, 190 * 8);
  take_and_give(heap, 200, 1);
  CHECK_THAT(heap->middle.used_count, >=, 190 * 8);
}

static void the_same_with_blocks_of_many_lengths(void) {
  struct lm_heap *heap = new_heap();
  for (int i = 0; i < 4; i++) take_and_give(heap, 200, 20);
  CHECK_THAT(heap->middle.used_count, >=, 190 * 17);
}

static void nothing_is_learnt_from_a_little_up_and_down(void) {
  struct lm_heap *heap = new_heap();
  for (int i = 0; i < 40; i++) take_block(heap, 8);
  for (int i = 0; i < 4; i++) take_and_give(heap, 100, 1);
  CHECK_EQ(heap->middle.learning.learnt_count, 0);
}

static void half_of_what_was_learnt_goes_when_less_was_needed(void) {
  struct lm_heap *heap = new_heap();
  for (int i = 0; i < 2; i++) take_and_give(heap, 200, 1);
  size_t learnt = heap->middle.learning.learnt_count;
  for (int i = 0; i < 2; i++) tick_through(heap, 1);
  CHECK_EQ(heap->middle.learning.learnt_count, learnt); /* all of it was needed before that tick */
  for (int i = 0; i < 2; i++) tick_through(heap, 1);
  CHECK_EQ(heap->middle.learning.learnt_count, learnt / 2);
  lm_middle_validate(heap);
}

static void trimming_leaves_nothing_free(void) {
  struct lm_heap *heap = new_heap();
  char *block = take_block(heap, 5), *freed = take_block(heap, 5);
  give_back(heap, freed);
  lm_heap_trim(heap);
  lm_middle_validate(heap);
  CHECK_EQ(heap->middle.dirty_count, 0);
  give_back(heap, block);
  lm_heap_trim(heap);
  CHECK_EQ(lm_pools[0].chunk_count, 0);
}

int main(void) {
  bool has_small_pages = sysconf(_SC_PAGESIZE) == 4096; /* of which these are chosen lengths */
  if (!has_small_pages) return 77;
  RUN(blocks_of_a_heap_stand_in_its_own_chunk);
  RUN(the_fullest_chunk_that_will_do_is_filled_first);
  RUN(one_empty_chunk_is_kept_and_more_are_not);
  RUN(the_block_freed_last_is_taken_first);
  RUN(what_is_cached_is_used_for_other_lengths_before_a_new_chunk_is_taken);
  RUN(a_cached_block_a_fifth_longer_will_do);
  RUN(only_starts_of_blocks_can_be_freed);
  RUN(a_block_on_its_way_cannot_be_freed_again);
  RUN(a_block_is_resized_where_it_stands);
  RUN(without_memory_for_a_chunk_there_is_no_block);
  RUN(remote_frees_come_back_when_the_owner_takes);
  RUN(a_chunk_with_blocks_is_orphaned_and_adopted);
  RUN(the_last_block_of_an_orphan_gives_the_chunk_back);
  RUN(who_takes_middle_blocks_adopts_the_chunk_whose_block_it_frees);
  RUN(who_only_frees_middle_blocks_adopts_no_more_chunks);
  RUN(an_empty_chunk_is_no_orphan);
  RUN(what_is_free_beyond_what_is_kept_is_purged_at_once);
  RUN(without_credit_only_the_clock_purges);
  RUN(however_much_is_free_a_call_of_the_clocks_does_a_part);
  RUN(a_round_passes_over_no_chunk_that_stays_and_ends);
  RUN(pages_purged_early_and_used_again_are_owed);
  RUN(pages_purged_early_that_a_block_grows_into_are_owed);
  RUN(what_was_too_much_for_the_cache_is_cached_the_next_time);
  RUN(the_same_with_blocks_of_many_lengths);
  RUN(nothing_is_learnt_from_a_little_up_and_down);
  RUN(half_of_what_was_learnt_goes_when_less_was_needed);
  RUN(trimming_leaves_nothing_free);
  puts("where a purge decommits:");
  lm_os.overcommit = false;
  lm_os.purge_decommits = true;
  RUN(what_is_free_beyond_what_is_kept_is_purged_at_once);
  RUN(a_block_is_resized_where_it_stands);
  RUN(trimming_leaves_nothing_free);
  return UNIT_RESULT();
}
