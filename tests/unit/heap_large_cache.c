/* The cache of large blocks: when a heap caches, what it hands out, and when that goes back. */
#include "unit.h"

#define BLOCK_BYTES (640 * LM_KIB) /* whole pages, however long */
#define MANY 100                   /* turns; enough to cache */

static struct lm_heap *heap;

static size_t pages_in_pool_blocks(void) { return heap->pool->large_page_count; }

static char *take(size_t size) {
  char *block = lm_large_take(heap, size, PAGE, false);
  CHECK(block != NULL);
  return block;
}

/* The entries, and the sum of what is cached, counted again. */
static void check_cache(void) {
  const struct lm_large_cache *cache = &heap->large_cache;
  size_t page_count = 0;
  for (size_t i = 0; i < LM_LARGE_CACHE_ENTRIES; i++) {
    const void *block = cache->blocks[i];
    if (block == NULL) continue;
    CHECK(cache->caches);
    CHECK_EQ(lm_region_block_pages(block), cache->page_counts[i]);
    CHECK_EQ(lm_region_live_pages(block), 0);
    page_count += cache->page_counts[i];
  }
  CHECK_EQ(page_count, lm_large_cache_pages(heap));
  CHECK_THAT(page_count, <=, lm_pages_of(LM_HEAP_CACHE_BYTES / CACHED_FRACTION));
  lm_pool_validate(heap->pool);
}

static void give(void *block) {
  CHECK(lm_large_give(heap, block));
  check_cache();
}

static void turn(size_t size, int count) {
  for (int i = 0; i < count; i++) CHECK(lm_large_give(heap, take(size)));
  check_cache();
}

/* A heap that caches, with one block of BLOCK_BYTES in its cache. */
static void begin_with_a_cached_block(void) {
  heap = new_heap();
  turn(BLOCK_BYTES, MANY);
  CHECK_EQ(lm_large_cache_pages(heap), lm_pages_of(BLOCK_BYTES));
}

static void a_heap_caches_after_turns_of_one_length(void) {
  heap = new_heap();
  turn(BLOCK_BYTES, SCORE_TO_CACHE);
  CHECK_EQ(lm_large_cache_pages(heap), 0);
  turn(BLOCK_BYTES, 1);
  CHECK_EQ(lm_large_cache_pages(heap), lm_pages_of(BLOCK_BYTES));
  CHECK_EQ(pages_in_pool_blocks(), lm_pages_of(BLOCK_BYTES));
}

static void blocks_that_are_only_freed_are_not_cached(void) {
  heap = new_heap();
  static char *blocks[MANY];
  for (int i = 0; i < MANY; i++) blocks[i] = take(BLOCK_BYTES);
  for (int i = 0; i < MANY; i++) give(blocks[i]);
  CHECK_EQ(pages_in_pool_blocks(), 0);
}

static void turns_of_random_lengths_do_not_make_a_heap_cache(void) {
  heap = new_heap();
  for (size_t i = 0; i < 10 * MANY; i++) turn(BLOCK_BYTES + i * 7919 % 6007 * LM_KIB, 1);
  CHECK_EQ(pages_in_pool_blocks(), 0);
}

static void a_cached_block_is_the_next_of_its_length(void) {
  begin_with_a_cached_block();
  char *block = take(BLOCK_BYTES);
  CHECK_EQ(lm_large_cache_pages(heap), 0);
  CHECK_EQ(lm_large_usable_bytes(block), BLOCK_BYTES);
  give(block);
  CHECK_EQ(take(BLOCK_BYTES), block);
}

static void a_cached_block_may_be_longer_by_an_eighth(void) {
  begin_with_a_cached_block();
  size_t page_count = lm_pages_of(BLOCK_BYTES), least = page_count * 8 / 9;
  while (least + least / 8 < page_count) least++;
  char *block = take(least * PAGE);
  CHECK_EQ(lm_large_usable_bytes(block), BLOCK_BYTES);
  give(block);
  CHECK_EQ(lm_large_usable_bytes(take((least - 1) * PAGE)), (least - 1) * PAGE);
  check_cache();
}

static void a_cached_block_has_the_alignment_that_is_asked_for(void) {
  heap = new_heap();
  const size_t alignment = 2 * LM_MIB;
  char *aligned = NULL;
  for (int i = 0; i < MANY; i++) {
    aligned = lm_large_take(heap, BLOCK_BYTES, alignment, false);
    CHECK_EQ((uintptr_t)aligned % alignment, 0);
    give(aligned);
  }
  CHECK_EQ(lm_large_take(heap, BLOCK_BYTES, alignment, false), aligned);
  give(take(BLOCK_BYTES));
  char *other = take(BLOCK_BYTES);
  CHECK((uintptr_t)other % alignment != 0);
  give(other);
  CHECK(lm_large_take(heap, BLOCK_BYTES, alignment, false) != other);
}

static void a_cached_block_is_cleared_when_asked_for(void) {
  begin_with_a_cached_block();
  char *block = take(BLOCK_BYTES);
  memset(block, 7, BLOCK_BYTES);
  give(block);
  CHECK_EQ(lm_large_take(heap, BLOCK_BYTES - 100, PAGE, true), block);
  check_zero(block, BLOCK_BYTES - 100);
}

static void a_cached_block_is_freed_twice_and_not_anybodys(void) {
  begin_with_a_cached_block();
  char *block = take(BLOCK_BYTES);
  give(block);
  CHECK(!lm_large_give(heap, block));
  CHECK_EQ(lm_large_usable_bytes(block), 0);
  CHECK(lm_large_is_free(block));
}

static void no_more_is_cached_than_the_limit(void) {
  begin_with_a_cached_block();
  static char *blocks[LM_LARGE_CACHE_ENTRIES + 2];
  for (size_t i = 0; i < COUNT_OF(blocks); i++) blocks[i] = take(BLOCK_BYTES);
  for (size_t i = 0; i < COUNT_OF(blocks); i++) give(blocks[i]);
  CHECK_EQ(lm_large_cache_pages(heap), LM_LARGE_CACHE_ENTRIES * lm_pages_of(BLOCK_BYTES));
  turn(3 * LM_MIB, MANY);
  size_t limit = LM_HEAP_CACHE_BYTES / CACHED_FRACTION;
  CHECK_THAT(lm_large_cache_pages(heap), <=, lm_pages_of(limit));
  CHECK_THAT(lm_large_cache_pages(heap), >=, lm_pages_of(3 * LM_MIB));
  give(take(limit + PAGE));
  for (size_t i = 0; i < LM_LARGE_CACHE_ENTRIES; i++)
    CHECK_THAT(heap->large_cache.page_counts[i], <=, lm_pages_of(limit));
}

static void without_caches_none_is_cached(void) {
  begin_with_a_cached_block();
  lm_options.heap_cache_bytes = 0;
  turn(BLOCK_BYTES, MANY);
  CHECK_THAT(lm_large_cache_pages(heap), <=, lm_pages_of(BLOCK_BYTES)); /* that of before */
  lm_large_cache_trim(heap);
  turn(BLOCK_BYTES, MANY);
  CHECK_EQ(lm_large_cache_pages(heap), 0);
  lm_options.heap_cache_bytes = LM_HEAP_CACHE_BYTES;
}

static void what_is_taken_and_cached_is_no_more_than_before(void) {
  begin_with_a_cached_block();
  char *other = take(BLOCK_BYTES / 2);
  CHECK_EQ(lm_large_cache_pages(heap), 0);
  CHECK_EQ(pages_in_pool_blocks(), lm_pages_of(BLOCK_BYTES / 2));
  /* Both at a time: from here on there is room for both. */
  char *block = take(BLOCK_BYTES);
  give(block);
  give(other);
  take(BLOCK_BYTES / 2);
  CHECK_EQ(take(BLOCK_BYTES), block);
}

static void what_is_not_needed_for_a_tick_goes_back(void) {
  begin_with_a_cached_block();
  lm_large_cache_tick(heap);
  CHECK_EQ(lm_large_cache_pages(heap), lm_pages_of(BLOCK_BYTES));
  give(take(BLOCK_BYTES));
  lm_large_cache_tick(heap);
  CHECK_EQ(lm_large_cache_pages(heap), lm_pages_of(BLOCK_BYTES));
  lm_large_cache_tick(heap);
  size_t effort = 1;
  CHECK(lm_large_cache_release(heap, &effort));
  CHECK_EQ(lm_large_cache_pages(heap), 0);
  CHECK_EQ(pages_in_pool_blocks(), 0);
  check_cache();
}

static void what_is_to_go_back_goes_as_the_effort_does(void) {
  begin_with_a_cached_block();
  static char *blocks[LM_LARGE_CACHE_ENTRIES];
  size_t page_count = lm_pages_of(BLOCK_BYTES), effort = page_count + LM_PURGE_CALL_EFFORT + 1;
  for (size_t i = 0; i < COUNT_OF(blocks); i++) blocks[i] = take(BLOCK_BYTES);
  for (size_t i = 0; i < COUNT_OF(blocks); i++) give(blocks[i]);
  lm_large_cache_tick(heap);
  lm_large_cache_tick(heap);
  CHECK(!lm_large_cache_release(heap, &effort));
  CHECK_EQ(effort, 0);
  CHECK_EQ(lm_large_cache_pages(heap), (COUNT_OF(blocks) - 2) * page_count);
  CHECK(!lm_large_cache_release(heap, &effort));
  CHECK_EQ(lm_large_cache_pages(heap), (COUNT_OF(blocks) - 2) * page_count);
  check_cache();
  char *block = take(BLOCK_BYTES); /* one of those that were to go */
  CHECK_EQ(lm_large_cache_pages(heap), (COUNT_OF(blocks) - 3) * page_count);
  give(block);
  while (heap->large_cache.surplus != 0) lm_heap_tick(heap);
  CHECK_EQ(lm_large_cache_pages(heap), page_count); /* that one is there anew */
  check_cache();
}

static void a_heap_without_turns_no_longer_caches(void) {
  begin_with_a_cached_block();
  for (int i = 0; i < 8; i++) lm_large_cache_tick(heap);
  turn(BLOCK_BYTES, 2);
  CHECK_EQ(pages_in_pool_blocks(), 0);
}

static void a_block_of_another_pool_goes_back_to_it(void) {
  begin_with_a_cached_block();
  static struct lm_pool other_pool;
  lm_pool_add(&other_pool);
  bool zero;
  char *block = lm_pool_take_large(&other_pool, lm_pages_of(BLOCK_BYTES), PAGE, &zero);
  give(block);
  CHECK_EQ(other_pool.large_count, 0);
}

static void trimming_and_the_end_of_a_heap_leave_none(void) {
  begin_with_a_cached_block();
  lm_heap_trim(heap);
  CHECK_EQ(pages_in_pool_blocks(), 0);
  turn(BLOCK_BYTES, MANY);
  CHECK_EQ(lm_large_cache_pages(heap), lm_pages_of(BLOCK_BYTES));
  lm_heap_end(heap);
  CHECK_EQ(pages_in_pool_blocks(), 0);
}

int main(void) {
  RUN(a_heap_caches_after_turns_of_one_length);
  RUN(blocks_that_are_only_freed_are_not_cached);
  RUN(turns_of_random_lengths_do_not_make_a_heap_cache);
  RUN(a_cached_block_is_the_next_of_its_length);
  RUN(a_cached_block_may_be_longer_by_an_eighth);
  RUN(a_cached_block_has_the_alignment_that_is_asked_for);
  RUN(a_cached_block_is_cleared_when_asked_for);
  RUN(a_cached_block_is_freed_twice_and_not_anybodys);
  RUN(no_more_is_cached_than_the_limit);
  RUN(without_caches_none_is_cached);
  RUN(what_is_taken_and_cached_is_no_more_than_before);
  RUN(what_is_not_needed_for_a_tick_goes_back);
  RUN(what_is_to_go_back_goes_as_the_effort_does);
  RUN(a_heap_without_turns_no_longer_caches);
  RUN(a_block_of_another_pool_goes_back_to_it);
  RUN(trimming_and_the_end_of_a_heap_leave_none);
  return UNIT_RESULT();
}
