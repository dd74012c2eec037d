/* What looks find of what a program has done to free blocks, and that they find nothing else. */
#include "unit.h"

#define CLASS lm_sizeclass_of(64)
#define MIDDLE_CLASS lm_middle_class(100000)

enum { COUNT = 20 };
static struct lm_cache *cache;
static struct lm_block *blocks[COUNT];

/* A cache in whose list some blocks are, of which the last one was freed last. */
static void begin(size_t class_index) {
  cache = new_cache();
  for (size_t i = 0; i < COUNT; i++) blocks[i] = cache_take(cache, class_index);
  lm_cache_flush(cache);
  size_t first = lm_class_is_small(class_index) ? 0 : COUNT - 3;
  for (size_t i = first; i < COUNT; i++) cache_give(cache, blocks[i]);
}

static void inspect_all(void) { lm_inspect_cache(cache, 0, SIZE_MAX); }

static void a_cache_that_nobody_has_touched_is_left_as_it_is(void) {
  static const size_t sizes[] = {16, 64, 1000, 16384};
  for (size_t i = 0; i < COUNT_OF(sizes); i++) begin(lm_sizeclass_of(sizes[i]));
  begin(MIDDLE_CLASS);
  for (int i = 0; i < 5; i++) inspect_all();
  lm_cache_validate(cache);
  validate_all();
}

static void an_empty_cache_is_looked_at_for_nothing(void) {
  lm_inspect_cache(&lm_empty_cache, 0, SIZE_MAX);
  cache = new_cache();
  inspect_all();
}

static void no_more_blocks_are_looked_at_than_may_be(void) {
  begin(CLASS);
  for (size_t i = 0; i < COUNT; i++) *((uint64_t *)blocks[i] + 1) = 0; /* of marks */
  lm_inspect_cache(cache, 0, 5);
  size_t marked = 0;
  for (size_t i = 0; i < COUNT; i++) marked += *((uint64_t *)blocks[i] + 1) != 0;
  CHECK_EQ(marked, 5);
}

static void it_begins_with_the_class_that_it_is_told(void) {
  begin(CLASS);
  for (size_t i = 0; i < COUNT; i++) *((uint64_t *)blocks[i] + 1) = 0;
  lm_inspect_cache(cache, CLASS + 1, SIZE_MAX);
  for (size_t i = 0; i < COUNT; i++) CHECK_EQ(*((uint64_t *)blocks[i] + 1), 0);
}

static void write_over_a_link(void) {
  begin(CLASS);
  memset(cache->lists[CLASS], 'x', 8);
  inspect_all();
}
static void a_link_that_was_written_over_ends_the_program(void) {
  CHECK(is_the_programs_end(write_over_a_link));
}

static void write_over_a_link_behind(void) {
  begin(CLASS);
  cache->behind[CLASS] = cache->lists[CLASS];
  cache->lists[CLASS] = LM_NO_BLOCK;
  memset(cache->behind[CLASS], 'x', 8);
  inspect_all();
}
static void one_in_the_list_behind_too(void) {
  CHECK(is_the_programs_end(write_over_a_link_behind));
}

static void lead_to_another_class(void) {
  begin(CLASS);
  lm_block_link(cache->lists[CLASS], cache_take(cache, lm_sizeclass_of(500)));
  inspect_all();
}
static void a_link_to_a_block_of_another_class_ends_the_program(void) {
  CHECK(is_the_programs_end(lead_to_another_class));
}

static void link_twice(void) {
  begin(CLASS);
  lm_block_link(lm_block_next(cache->lists[CLASS]), cache->lists[CLASS]);
  inspect_all();
}
static void a_block_that_is_there_twice_ends_the_program(void) {
  CHECK(is_the_programs_end(link_twice));
}

static void link_into_a_block(void) {
  begin(CLASS);
  struct lm_block *inside = (struct lm_block *)((char *)blocks[3] + 16);
  lm_block_link(inside, LM_NO_BLOCK);
  lm_block_link(cache->lists[CLASS], inside);
  inspect_all();
}
static void what_is_no_blocks_start_ends_the_program(void) {
  CHECK(is_the_programs_end(link_into_a_block));
}

static void write_over_a_middle_block(void) {
  begin(MIDDLE_CLASS);
  memset(cache->lists[MIDDLE_CLASS], 'x', 8);
  inspect_all();
}
static void a_middle_block_that_was_written_to_ends_the_program(void) {
  CHECK(is_the_programs_end(write_over_a_middle_block));
}

/* ---- One block ---- */

static void a_block_is_compared_with_as_many_as_are_asked_for(void) {
  begin(CLASS);
  struct lm_block *block = cache_take(cache, CLASS);
  size_t left = length_of(cache->lists[CLASS]);
  CHECK_THAT(left, >, 6);
  CHECK_EQ(lm_inspect_freed(cache, block, CLASS, 5, NULL), 5);
  CHECK_EQ(lm_inspect_freed(cache, block, CLASS, 0, NULL), 0);
  CHECK_EQ(lm_inspect_freed(cache, block, CLASS, SIZE_MAX, NULL), left);
}

static void free_the_last_again(void) {
  begin(CLASS);
  lm_inspect_freed(cache, blocks[COUNT - 1], CLASS, 1, NULL);
}
static void free_an_earlier_one_again(void) {
  begin(CLASS);
  lm_inspect_freed(cache, blocks[COUNT - 6], CLASS, 10, NULL);
}
static void free_the_inside(void) {
  begin(CLASS);
  struct lm_block *block = cache_take(cache, CLASS);
  lm_inspect_freed(cache, (struct lm_block *)((char *)block + 16), CLASS, 10, NULL);
}
static void a_block_on_the_list_or_inside_of_one_ends_the_program(void) {
  CHECK(is_the_programs_end(free_the_last_again));
  CHECK(is_the_programs_end(free_an_earlier_one_again));
  CHECK(is_the_programs_end(free_the_inside));
}

static void ask_for_more_behind_a_broken_link(void) {
  cache = new_cache();
  cache->lists[CLASS] = (struct lm_block *)(uintptr_t)0x7878787878787871;
  cache_take(cache, CLASS);
}
static void a_list_that_ends_with_no_block_and_no_end_ends_the_program(void) {
  CHECK(is_the_programs_end(ask_for_more_behind_a_broken_link));
}

int main(void) {
  RUN(a_cache_that_nobody_has_touched_is_left_as_it_is);
  RUN(an_empty_cache_is_looked_at_for_nothing);
  RUN(no_more_blocks_are_looked_at_than_may_be);
  RUN(it_begins_with_the_class_that_it_is_told);
  RUN(a_link_that_was_written_over_ends_the_program);
  RUN(one_in_the_list_behind_too);
  RUN(a_link_to_a_block_of_another_class_ends_the_program);
  RUN(a_block_that_is_there_twice_ends_the_program);
  RUN(what_is_no_blocks_start_ends_the_program);
  RUN(a_middle_block_that_was_written_to_ends_the_program);
  RUN(a_block_is_compared_with_as_many_as_are_asked_for);
  RUN(a_block_on_the_list_or_inside_of_one_ends_the_program);
  RUN(a_list_that_ends_with_no_block_and_no_end_ends_the_program);
  return UNIT_RESULT();
}
