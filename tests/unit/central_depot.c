// tsan: yes
/* Depots: whole lists in and out, how many a depot has room for, and how they leave it again. */
#include "unit.h"

#define STAYS_CLASS lm_sizeclass_of(64)   /* below LM_ELSEWHERE_MIN_BYTES */
#define MOVES_CLASS lm_sizeclass_of(256)
#define MIDDLE_CLASS lm_middle_class(100000)

static size_t list_count(const struct lm_central *central, size_t class_index) {
  return lm_load_relaxed(&central->classes[class_index].list_count);
}

/* The whole of the next list. */
static struct lm_block *take(struct lm_central *central, size_t class_index) {
  size_t count_max;
  return lm_depot_take(central, class_index, LM_LIST_BLOCKS_MAX, &count_max);
}
static struct lm_block *take_from_elsewhere(struct lm_central *central, size_t class_index) {
  size_t count_max;
  return lm_depot_take_elsewhere(central, class_index, LM_LIST_BLOCKS_MAX, &count_max);
}

static bool give(struct lm_central *central, size_t class_index, struct lm_block *list) {
  size_t count = lm_list_blocks[class_index];
  bool given = lm_depot_give(central, class_index, list, count) != LM_LIST_REFUSED;
  lm_central_validate(central);
  return given;
}

/* A list, out of the depot or else of spans. */
static struct lm_block *take_any_list(struct lm_central *central, size_t class_index) {
  struct lm_block *list = take(central, class_index);
  return list != NULL ? list : take_whole_list(central, class_index);
}

/* Takes so many lists and frees them again. Returns how many of these the depot has taken. */
static size_t take_and_give(struct lm_central *central, size_t class_index, size_t count) {
  struct lm_block *lists[64];
  size_t given = 0;
  CHECK_THAT(count, <=, COUNT_OF(lists));
  for (size_t i = 0; i < count; i++) lists[i] = take_any_list(central, class_index);
  for (size_t i = 0; i < count; i++) {
    if (give(central, class_index, lists[i])) given++;
    else lm_depot_put_back(central, class_index, lists[i], true);
  }
  lm_central_validate(central);
  return given;
}

/* A depot that has learned to have lists of the class. */
static size_t fill_depot(struct lm_central *central, size_t class_index) {
  for (int i = 0; i < 20; i++) take_and_give(central, class_index, 16);
  CHECK_THAT(list_count(central, class_index), >=, 4);
  return list_count(central, class_index);
}

/* So many calls of the clock's. */
static void age(struct lm_central *central, size_t class_index, int rounds) {
  for (int i = 0; i < rounds; i++) {
    size_t effort = SIZE_MAX;
    CHECK(!lm_depot_age(central, class_index, false, &effort));
    lm_central_validate(central);
  }
}

/* ---- In and out ---- */

static void a_list_that_is_given_comes_back_whole(void) {
  struct lm_central *central = central_at(0);
  struct lm_block *list = take_whole_list(central, STAYS_CLASS);
  struct lm_block *blocks[1024], *block = list;
  size_t count = 0;
  for (; lm_is_block(block); block = lm_block_next(block)) blocks[count++] = block;
  CHECK_EQ(count, lm_list_blocks[STAYS_CLASS]);
  CHECK(give(central, STAYS_CLASS, list));
  CHECK_EQ(find_blocks(STAYS_CLASS).in_depots, count);
  block = take(central, STAYS_CLASS);
  for (size_t i = 0; i < count; i++, block = lm_block_next(block)) CHECK_EQ(block, blocks[i]);
  CHECK_EQ(block, LM_NO_BLOCK);
  CHECK_EQ(central->depot_bytes, 0);
}

static void a_list_of_one_block_is_one(void) {
  struct lm_central *central = central_at(0);
  size_t count;
  struct lm_block *block = take_list(central, lm_sizeclass_of(16), 1, &count);
  CHECK(give(central, lm_sizeclass_of(16), block));
  CHECK_EQ(take(central, lm_sizeclass_of(16)), block);
  CHECK_EQ(lm_block_next(block), LM_NO_BLOCK);
}

static void an_empty_depot_gives_nothing(void) {
  have_centrals(2);
  CHECK_EQ(take(central_at(0), MOVES_CLASS), NULL);
  CHECK_EQ(take_from_elsewhere(central_at(0), MOVES_CLASS), NULL);
}

static void a_depot_has_lists_by_class(void) {
  struct lm_central *central = central_at(0);
  CHECK(give(central, STAYS_CLASS, take_whole_list(central, STAYS_CLASS)));
  CHECK_EQ(take(central, MOVES_CLASS), NULL);
  CHECK(take(central, STAYS_CLASS) != NULL);
}

static struct lm_block *take_middle_list(void) {
  struct lm_cache *cache = new_cache();
  struct lm_block *list = LM_NO_BLOCK;
  for (size_t i = 0; i < lm_list_blocks[MIDDLE_CLASS]; i++) {
    struct lm_block *block = lm_middle_take(cache, 100000, false);
    uint32_t entry = lm_load_relaxed(lm_region_block_entry(block));
    lm_store_relaxed(lm_region_block_entry(block), entry | LM_BLOCK_CACHED);
    lm_block_link(block, list);
    list = block;
  }
  return list;
}

static void middle_blocks_wait_in_depots_too_and_go_back_to_the_pool(void) {
  struct lm_central *central = central_at(0);
  struct lm_block *list = take_middle_list();
  CHECK(give(central, MIDDLE_CLASS, list));
  CHECK_EQ(take(central, MIDDLE_CLASS), list);
  lm_depot_put_back(central, MIDDLE_CLASS, list, true);
  validate_all();
  for (unsigned i = 0; i < lm_pool_count; i++) CHECK_EQ(lm_pools[i].large_count, 0);
}

static void overwrite_link(void) {
  struct lm_central *central = central_at(0);
  struct lm_block *list = take_whole_list(central, MOVES_CLASS);
  CHECK(lm_depot_give(central, MOVES_CLASS, list, lm_list_blocks[MOVES_CLASS]) != LM_LIST_REFUSED);
  memset(list, 'x', lm_sizeclass_bytes(MOVES_CLASS));
  take(central, MOVES_CLASS);
}
static void a_link_between_lists_that_was_written_over_ends_the_program(void) {
  CHECK(is_the_programs_end(overwrite_link));
}

/* ---- Parts of lists ---- */

static void no_more_of_a_list_is_taken_than_is_wanted(void) {
  struct lm_central *central = central_at(0);
  struct lm_block *list = take_whole_list(central, MOVES_CLASS);
  size_t whole = lm_list_blocks[MOVES_CLASS], count_max, left = whole;
  CHECK(give(central, MOVES_CLASS, list));
  for (; left > 5; left -= 5) {
    CHECK_EQ(length_of(lm_depot_take(central, MOVES_CLASS, 5, &count_max)), 5);
    CHECK_EQ(count_max, 5);
    CHECK_EQ(list_count(central, MOVES_CLASS), 1);
    lm_central_validate(central);
  }
  CHECK_EQ(length_of(lm_depot_take(central, MOVES_CLASS, 100, &count_max)), left);
  CHECK_EQ(count_max, left);
  CHECK_EQ(central->depot_bytes, 0);
}

static void a_list_that_is_shorter_than_it_says_is_taken_whole(void) {
  struct lm_central *central = central_at(0);
  size_t count, count_max;
  struct lm_block *list = take_list(central, MOVES_CLASS, 3, &count);
  count = length_of(list);
  CHECK(give(central, MOVES_CLASS, list));
  CHECK_EQ(length_of(lm_depot_take(central, MOVES_CLASS, count + 1, &count_max)), count);
  CHECK_EQ(list_count(central, MOVES_CLASS), 0);
  lm_central_validate(central);
}

/* In 64 bit the smallest block has no room for the number. */
static void lists_of_the_smallest_blocks_are_taken_whole(void) {
  struct lm_central *central = central_at(0);
  size_t class_index = lm_sizeclass_of(16), count_max;
  size_t taken = LM_BITS_64 ? lm_list_blocks[class_index] : 5;
  CHECK(give(central, class_index, take_whole_list(central, class_index)));
  CHECK_EQ(length_of(lm_depot_take(central, class_index, 5, &count_max)), taken);
  CHECK_EQ(count_max, taken);
}

/* As many bytes as a few whole lists, however many lists they are in. */
static void a_depot_has_room_for_many_short_lists(void) {
  struct lm_central *central = central_at(0);
  size_t whole = lm_list_blocks[MOVES_CLASS], given = 0;
  struct lm_block *list = take_whole_list(central, MOVES_CLASS);
  for (struct lm_block *next; lm_is_block(list); list = next) {
    next = lm_block_next(list);
    lm_block_link(list, LM_NO_BLOCK);
    given += lm_depot_give(central, MOVES_CLASS, list, 1) != LM_LIST_REFUSED;
  }
  CHECK_EQ(given, whole);
  CHECK_EQ(list_count(central, MOVES_CLASS), whole);
  lm_central_validate(central);
  age(central, MOVES_CLASS, 20);
  CHECK_EQ(list_count(central, MOVES_CLASS), 0);
}

/* A count that a program has written over is believed no further than a whole list goes. */
static void a_count_that_was_written_over_spoils_no_sums(void) {
  for (int value = 0; value < 256; value += 255) {
    struct lm_central *central = central_at(0);
    struct lm_block *list = take_whole_list(central, MOVES_CLASS);
    size_t whole = lm_list_blocks[MOVES_CLASS];
    CHECK(give(central, MOVES_CLASS, list));
    memset(&((struct lm_list *)list)->count_max, value, sizeof(uint32_t));
    size_t count_max;
    list = lm_depot_take(central, MOVES_CLASS, LM_LIST_BLOCKS_MAX, &count_max);
    CHECK_THAT(count_max, <=, whole);
    CHECK_THAT(count_max, >, 0);
    CHECK_EQ(central->depot_bytes, 0);
    lm_depot_put_back(central, MOVES_CLASS, list, false);
    validate_all();
  }
}

/* ---- How many ---- */

static void a_depot_takes_few_lists_that_nobody_wants(void) {
  struct lm_central *central = central_at(0);
  static const size_t sizes[] = {16, 64, 256, 4096, 16384};
  for (size_t i = 0; i < COUNT_OF(sizes); i++) {
    size_t class_index = lm_sizeclass_of(sizes[i]);
    struct lm_block *lists[32];
    size_t given = 0;
    for (size_t k = 0; k < COUNT_OF(lists); k++) lists[k] = take_whole_list(central, class_index);
    central->classes[class_index].asked = false;
    for (size_t k = 0; k < COUNT_OF(lists); k++) given += give(central, class_index, lists[k]);
    CHECK_THAT(given, <=, 4);
    CHECK_THAT(given, >=, 1);
  }
}

static void it_takes_more_once_they_have_been_asked_for_in_vain(void) {
  struct lm_central *central = central_at(0);
  size_t first = take_and_give(central, MOVES_CLASS, 16), last = first;
  for (int i = 0; i < 20; i++) last = take_and_give(central, MOVES_CLASS, 16);
  CHECK_THAT(last, >, first);
  CHECK_THAT(last, >=, 12); /* nearly all that the program takes and frees */
}

static enum lm_list_fate give_whole(struct lm_central *central, struct lm_block *list) {
  return lm_depot_give(central, MOVES_CLASS, list, lm_list_blocks[MOVES_CLASS]);
}

static void it_says_of_lists_whether_they_are_wanted(void) {
  struct lm_central *central = central_at(0);
  struct lm_block *lists[3];
  for (int i = 0; i < 3; i++) lists[i] = take_whole_list(central, MOVES_CLASS);
  CHECK_EQ(give_whole(central, lists[0]), LM_LIST_WANTED);
  CHECK_EQ(give_whole(central, lists[1]), LM_LIST_REFUSED);
  CHECK_EQ(take(central, MOVES_CLASS), lists[0]);
  central->classes[MOVES_CLASS].asked = false;
  CHECK_EQ(give_whole(central, lists[0]), LM_LIST_KEPT);
  fill_depot(central, MOVES_CLASS);
  while (take(central, MOVES_CLASS) != NULL) {}
  CHECK_EQ(give_whole(central, lists[1]), LM_LIST_WANTED);
  CHECK_EQ(give_whole(central, lists[2]), LM_LIST_LEARNED);
}

/* Gives so many lists, each of which is asked for. Those that are refused go home. */
static void give_asked_lists(struct lm_central *central, size_t class_index, size_t count) {
  struct lm_block *lists[64];
  CHECK_THAT(count, <=, COUNT_OF(lists));
  for (size_t i = 0; i < count; i++) lists[i] = take_whole_list(central, class_index);
  for (size_t i = 0; i < count; i++) {
    central->classes[class_index].asked = true;
    if (!give(central, class_index, lists[i]))
      lm_depot_put_back(central, class_index, lists[i], true);
  }
}

static void all_depots_of_a_central_keep_no_more_than_their_part(void) {
  struct lm_central *central = central_at(0);
  lm_options.heap_cache_bytes = 3 * MIB;
  for (size_t size = 16; size <= 16384; size *= 2) {
    give_asked_lists(central, lm_sizeclass_of(size), 40);
    CHECK_THAT(central->depot_bytes, <=, 2 * lm_options.heap_cache_bytes);
  }
  CHECK_THAT(central->depot_bytes, >, lm_options.heap_cache_bytes / 4);
}

static void many_centrals_share_what_depots_may_keep(void) {
  have_centrals(64);
  lm_options.heap_cache_bytes = 64 * MIB;
  size_t kept = 0;
  for (uint32_t i = 0; i < 4; i++) {
    give_asked_lists(central_at(i), lm_sizeclass_of(16384), 64);
    kept += central_at(i)->depot_bytes;
  }
  CHECK_THAT(kept, <=, 4 * 2 * lm_options.heap_cache_bytes / 64);
  CHECK_THAT(kept, >, 0);
}

/* ---- Time ---- */

static void what_nobody_takes_leaves_as_time_goes_by(void) {
  struct lm_central *central = central_at(0);
  size_t count = fill_depot(central, MOVES_CLASS);
  age(central, MOVES_CLASS, 1); /* what was taken before this is none of its */
  age(central, MOVES_CLASS, 1);
  CHECK_THAT(list_count(central, MOVES_CLASS), <, count);
  CHECK_THAT(list_count(central, MOVES_CLASS), >, 0);
  age(central, MOVES_CLASS, 20);
  CHECK_EQ(list_count(central, MOVES_CLASS), 0);
  CHECK_EQ(central->depot_bytes, 0);
  CHECK_EQ(find_blocks(MOVES_CLASS).taken, 0);
}

static void what_is_taken_again_and_again_stays(void) {
  struct lm_central *central = central_at(0);
  size_t count = fill_depot(central, MOVES_CLASS);
  for (int i = 0; i < 20; i++) {
    take_and_give(central, MOVES_CLASS, 16);
    age(central, MOVES_CLASS, 1);
  }
  CHECK_THAT(list_count(central, MOVES_CLASS), >=, count / 2);
}

static void there_is_less_room_again_after_a_while(void) {
  struct lm_central *central = central_at(0);
  fill_depot(central, MOVES_CLASS);
  age(central, MOVES_CLASS, 40);
  CHECK_THAT(central->classes[MOVES_CLASS].list_limit, <=, 4);
}

static void all_go_at_once_on_demand(void) {
  struct lm_central *central = central_at(0);
  size_t effort = SIZE_MAX;
  fill_depot(central, MOVES_CLASS);
  CHECK(!lm_depot_age(central, MOVES_CLASS, true, &effort));
  lm_central_validate(central);
  CHECK_EQ(list_count(central, MOVES_CLASS), 0);
  CHECK_EQ(find_blocks(MOVES_CLASS).taken, 0);
}

static void no_call_puts_back_more_than_it_may_and_the_next_goes_on(void) {
  struct lm_central *central = central_at(0);
  size_t count = fill_depot(central, MOVES_CLASS), calls = 0, effort;
  for (bool more = true; more; calls++) {
    size_t before = list_count(central, MOVES_CLASS);
    effort = 1;
    more = lm_depot_age(central, MOVES_CLASS, true, &effort);
    CHECK_THAT(before - list_count(central, MOVES_CLASS), <=, 1);
  }
  CHECK_THAT(calls, >=, count);
  CHECK_EQ(list_count(central, MOVES_CLASS), 0);
}

/* ---- Other centrals ---- */

static void lists_of_others_are_taken_near_ones_first(void) {
  have_centrals(8);
  struct lm_block *near = take_whole_list(central_at(5), MOVES_CLASS);
  struct lm_block *far = take_whole_list(central_at(2), MOVES_CLASS);
  CHECK(give(central_at(5), MOVES_CLASS, near) && give(central_at(2), MOVES_CLASS, far));
  CHECK_EQ(take(central_at(3), MOVES_CLASS), NULL);
  CHECK_EQ(take_from_elsewhere(central_at(3), MOVES_CLASS), near);
  CHECK_EQ(take_from_elsewhere(central_at(3), MOVES_CLASS), far);
  CHECK_EQ(take_from_elsewhere(central_at(3), MOVES_CLASS), NULL);
  for (uint32_t i = 0; i < 8; i++)
    if (lm_central_if_made(i) != NULL) CHECK_EQ(central_at(i)->depot_bytes, 0);
}

static void a_central_takes_no_list_of_its_own_as_one_of_others(void) {
  have_centrals(4);
  CHECK(give(central_at(1), MOVES_CLASS, take_whole_list(central_at(1), MOVES_CLASS)));
  CHECK_EQ(take_from_elsewhere(central_at(1), MOVES_CLASS), NULL);
  CHECK(take(central_at(1), MOVES_CLASS) != NULL);
}

static void a_central_of_hundreds_finds_the_one_list_that_there_is(void) {
  have_centrals(LM_CENTRAL_MAX);
  struct lm_block *list = take_whole_list(central_at(300), MOVES_CLASS);
  CHECK(give(central_at(300), MOVES_CLASS, list));
  CHECK_EQ(take_from_elsewhere(central_at(7), MOVES_CLASS), list);
  CHECK_EQ(lm_central_if_made(301), NULL);
}

static void a_list_of_larger_blocks_does_not_wait_for_a_lock(void) {
  have_centrals(2);
  struct lm_central *central = central_at(0), *other = central_at(1);
  struct lm_block *list = take_whole_list(central, MOVES_CLASS);
  lm_store_relaxed(&central->lock.state, 1); /* as if another thread had it */
  CHECK(lm_depot_give(central, MOVES_CLASS, list, lm_list_blocks[MOVES_CLASS]) != LM_LIST_REFUSED);
  lm_store_relaxed(&central->lock.state, 0);
  CHECK_EQ(list_count(central, MOVES_CLASS), 0);
  CHECK_EQ(list_count(other, MOVES_CLASS), 1);
  validate_all();
}

static void a_depot_that_was_noted_in_vain_is_noted_no_longer(void) {
  have_centrals(2);
  central_at(1);
  lm_central_note(&lm_depot_words[MOVES_CLASS], central_at(1));
  CHECK_EQ(take_from_elsewhere(central_at(0), MOVES_CLASS), NULL);
  CHECK_EQ(lm_load_relaxed(&lm_depot_words[MOVES_CLASS]), 0);
}

/* ---- Several threads ---- */

enum { THREADS = 4, TURNS = 4000 };

/* What a list's blocks say while a thread has it. */
static void write_list(struct lm_block *list, uint32_t value) {
  for (; lm_is_block(list); list = lm_block_next(list)) ((uint32_t *)list)[8] = value;
}
static void check_list(struct lm_block *list, uint32_t value) {
  for (; lm_is_block(list); list = lm_block_next(list)) CHECK_EQ(((uint32_t *)list)[8], value);
}

static void *pass_lists(void *argument) {
  uint64_t random = (uintptr_t)argument;
  for (int turn = 0; turn < TURNS; turn++) {
    struct lm_central *central = central_at((uint32_t)(random_next(&random) % lm_central_count));
    struct lm_block *list = take(central, MOVES_CLASS);
    if (list == NULL) list = take_from_elsewhere(central, MOVES_CLASS);
    if (list == NULL) list = take_whole_list(central, MOVES_CLASS);
    uint32_t mine = (uint32_t)(uintptr_t)argument << 16 | (uint32_t)turn;
      write_list(list, mine);
    check_list(list, mine);
    if (lm_depot_give(central, MOVES_CLASS, list, lm_list_blocks[MOVES_CLASS]) == LM_LIST_REFUSED)
      lm_depot_put_back(central, MOVES_CLASS, list, true);
    size_t effort = 4;
    if (turn % 32 == 0) lm_depot_age(central, MOVES_CLASS, turn % 64 == 0, &effort);
    if (turn % 500 == 0) lm_central_validate(central);
  }
  return NULL;
}

static void a_list_is_one_threads_at_a_time_and_none_is_lost(void) {
  pthread_t threads[THREADS];
  have_centrals(3);
  for (size_t i = 0; i < THREADS; i++) threads[i] = start_thread(pass_lists, (void *)(i + 1));
  for (size_t i = 0; i < THREADS; i++) join_thread(threads[i]);
  validate_all();
  CHECK_EQ(find_blocks(MOVES_CLASS).taken, 0);
  for (uint32_t i = 0; i < lm_central_count; i++) {
    size_t effort = SIZE_MAX;
    lm_depot_age(central_at(i), MOVES_CLASS, true, &effort);
  }
  for (uint32_t i = 0; i < lm_central_count; i++)
    lm_central_end_empty(central_at(i), MOVES_CLASS, true);
  CHECK_EQ(find_blocks(MOVES_CLASS).carved, 0);
}

int main(void) {
  RUN(a_list_that_is_given_comes_back_whole);
  RUN(a_list_of_one_block_is_one);
  RUN(an_empty_depot_gives_nothing);
  RUN(a_depot_has_lists_by_class);
  RUN(middle_blocks_wait_in_depots_too_and_go_back_to_the_pool);
  RUN(a_link_between_lists_that_was_written_over_ends_the_program);
  RUN(no_more_of_a_list_is_taken_than_is_wanted);
  RUN(a_list_that_is_shorter_than_it_says_is_taken_whole);
  RUN(lists_of_the_smallest_blocks_are_taken_whole);
  RUN(a_depot_has_room_for_many_short_lists);
  RUN(a_count_that_was_written_over_spoils_no_sums);
  RUN(a_depot_takes_few_lists_that_nobody_wants);
  RUN(it_takes_more_once_they_have_been_asked_for_in_vain);
  RUN(it_says_of_lists_whether_they_are_wanted);
  RUN(all_depots_of_a_central_keep_no_more_than_their_part);
  RUN(many_centrals_share_what_depots_may_keep);
  RUN(what_nobody_takes_leaves_as_time_goes_by);
  RUN(what_is_taken_again_and_again_stays);
  RUN(there_is_less_room_again_after_a_while);
  RUN(all_go_at_once_on_demand);
  RUN(no_call_puts_back_more_than_it_may_and_the_next_goes_on);
  RUN(lists_of_others_are_taken_near_ones_first);
  RUN(a_central_takes_no_list_of_its_own_as_one_of_others);
  RUN(a_central_of_hundreds_finds_the_one_list_that_there_is);
  RUN(a_list_of_larger_blocks_does_not_wait_for_a_lock);
  RUN(a_depot_that_was_noted_in_vain_is_noted_no_longer);
  RUN(a_list_is_one_threads_at_a_time_and_none_is_lost);
  return UNIT_RESULT();
}
