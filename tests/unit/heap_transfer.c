/* Transfers: blocks that pass from heap to heap, since their owners do not take what they are sent. */
#include "unit.h"

#define CLASS 4
#define LIST (UNANSWERED_GUEST_BYTES / lm_classes[CLASS].block_bytes) /* given at a time */
enum { BLOCKS = 2000 };

static struct lm_heap *owner, *giver, *taker;
static void *blocks[BLOCKS]; /* of the owner's, taken before others can be found in transfers */
static size_t kept_count;

/* The giver's parcels find others waiting. */
static void begin(void) {
  owner = new_heap();
  giver = new_heap();
  taker = new_heap();
  giver->outbox.unanswered = LM_UNANSWERED;
  giver->guests_left[CLASS] = lm_guests_per_refill(giver, CLASS);
  CHECK_EQ(giver->guests_left[CLASS], LIST);
  for (size_t i = 0; i < BLOCKS; i++) blocks[i] = heap_take(owner, CLASS);
}

/* Frees the next block by the giver's thread, which keeps it or not. */
static bool keep_next(void) { return lm_heap_keep_guest(giver, blocks[kept_count++], CLASS); }

static void keep_blocks(size_t count) {
  for (size_t i = 0; i < count; i++) CHECK(keep_next());
}

static size_t lists_given(size_t class_index) {
  size_t count = 0;
  for (size_t i = 0; i < LM_TRANSFER_PLACES; i++)
    count += lm_transfer_read((size_t)(giver->pool - lm_pools), class_index, i) != NULL;
  return count;
}

static void validate_all(void) {
  lm_heap_validate(owner);
  lm_heap_validate(giver);
  lm_heap_validate(taker);
}

/* The owner has all blocks back once it has taken what was sent. */
static void check_that_owner_gets(size_t count) {
  size_t before = lm_heap_validate(owner);
  lm_remote_collect(owner);
  CHECK_EQ(lm_heap_validate(owner), before - count);
}

static void round_of_looks(void) {
  lm_lock_take(&lm_visits_round.lock);
  for (bool more = lm_transfer_begin_round(); more;) more = lm_transfer_look();
  lm_lock_free(&lm_visits_round.lock);
}

static void send_all_home(void) {
  lm_lock_take(&lm_visits_round.lock);
  lm_transfer_send_all();
  lm_lock_free(&lm_visits_round.lock);
}

/* ---- Small blocks ---- */

static void a_reserve_of_guests_goes_where_others_find_it(void) {
  begin();
  keep_blocks(LIST - 1);
  CHECK_EQ(lists_given(CLASS), 0);
  keep_blocks(1);
  CHECK_EQ(lists_given(CLASS), 1);
  CHECK_EQ(giver->reserves[CLASS], NULL);
  CHECK_EQ(giver->guests_left[CLASS], LIST);
  CHECK(heap_take(taker, CLASS) != NULL);
  CHECK_EQ(taker->span_counts[CLASS], 0);
  CHECK_EQ(list_length(taker->bins[CLASS]), LIST - 1);
  CHECK_EQ(lists_given(CLASS), 0);
  validate_all();
}

static void it_is_looked_for_once_the_bin_is_empty(void) {
  begin();
  void *own = heap_take(taker, CLASS);
  keep_blocks(LIST);
  while (lm_heap_pop(taker, CLASS) != NULL) {}
  heap_give(taker, own);
  CHECK_EQ(heap_take(taker, CLASS), own);
  CHECK_EQ(lists_given(CLASS), 1);
  heap_take(taker, CLASS);
  CHECK_EQ(lists_given(CLASS), 0);
  CHECK(taker->has_guests[CLASS]);
  validate_all();
}

static void who_always_finds_one_sees_the_clock(void) {
  begin();
  keep_blocks(LM_TRANSFER_PLACES * LIST);
  taker->watch.seen_ms = 0;
  for (size_t i = 0; i < REFILLS_PER_TICK * LIST; i++) CHECK(heap_take(taker, CLASS) != NULL);
  CHECK_EQ(taker->span_counts[CLASS], 0);
  CHECK_THAT(taker->watch.seen_ms, !=, 0);
}

static void where_there_is_no_place_they_stay_and_others_go_home(void) {
  begin();
  keep_blocks(LM_TRANSFER_PLACES * LIST);
  CHECK_EQ(lists_given(CLASS), LM_TRANSFER_PLACES);
  keep_blocks(LIST);
  CHECK_EQ(list_length(giver->reserves[CLASS]), LIST);
  CHECK(!keep_next());
  validate_all();
}

static void a_reserve_that_has_more_than_guests_stays(void) {
  begin();
  keep_blocks(LIST - 1);
  lm_bitmap_set(giver->spare_reserves, CLASS, CLASS + 1);
  keep_blocks(1);
  CHECK_EQ(lists_given(CLASS), 0);
  CHECK_EQ(list_length(giver->reserves[CLASS]), LIST);
}

static void a_first_class_heap_takes_none(void) {
  begin();
  keep_blocks(LIST);
  struct loam_heap *shared = lm_shared_begin(NULL);
  CHECK(shared != NULL);
  bool zero;
  CHECK(lm_heap_take_slow(&shared->heap, CLASS, &zero) != NULL);
  CHECK_EQ(lists_given(CLASS), 1);
}

static void where_pages_are_the_program_s_none_are_given(void) {
  static const struct loam_page_provider provider = {0};
  begin();
  lm_pool_provide(giver->pool, &provider);
  keep_blocks(LIST);
  CHECK_EQ(lists_given(CLASS), 0);
  CHECK_EQ(list_length(giver->reserves[CLASS]), LIST);
  lm_pool_provide(giver->pool, NULL);
}

/* ---- Middle blocks ---- */

static void *take_middle(size_t page_count) {
  void *block = lm_middle_take(owner, page_count, false);
  CHECK(block != NULL);
  return block;
}

static void *give_middle(size_t page_count) {
  void *block = take_middle(page_count);
  CHECK(lm_middle_send(block));
  CHECK(lm_transfer_give_middle(giver, block));
  CHECK(!lm_middle_send(block)); /* it is free */
  return block;
}

static void a_middle_block_is_taken_by_its_length_or_a_shorter_one(void) {
  begin();
  void *block = give_middle(6);
  CHECK_EQ(lm_transfer_take_middle(taker, 3), NULL);
  CHECK_EQ(lm_transfer_take_middle(taker, 6), NULL);
  CHECK_EQ(lm_transfer_take_middle(taker, 4), block);
  CHECK_EQ(lm_region_live_pages(block), 6);
  CHECK_EQ(lm_transfer_take_middle(taker, 4), NULL);
  lm_heap_validate(owner);
}

static void malloc_takes_it_rather_than_other_pages(void) {
  begin();
  void *block = give_middle(6);
  CHECK_EQ(lm_middle_take(taker, 6, true), block);
  CHECK_EQ(taker->middle.used_count, 0);
  for (size_t i = 0; i < 6 * PAGE; i++) CHECK_EQ(((char *)block)[i], 0);
  validate_all();
}

static void so_many_of_a_length_as_there_are_places(void) {
  begin();
  for (size_t i = 0; i <= LM_TRANSFER_PLACES; i++) blocks[i] = take_middle(1);
  for (size_t i = 0; i <= LM_TRANSFER_PLACES; i++)
    CHECK_EQ(lm_transfer_give_middle(giver, blocks[i]), i < LM_TRANSFER_PLACES);
  CHECK_EQ(lists_given(LM_CLASS_COUNT), LM_TRANSFER_PLACES);
}

/* ---- The way home ---- */

static void what_nobody_takes_goes_home_by_the_second_look(void) {
  begin();
  keep_blocks(2 * LIST);
  give_middle(6);
  round_of_looks();
  CHECK_EQ(lists_given(CLASS), 2);
  CHECK_EQ(lists_given(LM_CLASS_COUNT + 5), 1);
  CHECK(heap_take(taker, CLASS) != NULL); /* marked or not */
  round_of_looks();
  CHECK_EQ(lists_given(CLASS), 0);
  CHECK_EQ(lists_given(LM_CLASS_COUNT + 5), 0);
  check_that_owner_gets(LIST);
  CHECK_EQ(lm_middle_live_count(owner), 0);
  validate_all();
}

static void what_has_come_since_the_first_look_stays(void) {
  begin();
  keep_blocks(LIST);
  round_of_looks();
  CHECK(heap_take(taker, CLASS) != NULL);
  keep_blocks(LIST);
  round_of_looks();
  CHECK_EQ(lists_given(CLASS), 1);
}

static void a_look_takes_no_longer_than_a_call_may(void) {
  begin();
  keep_blocks(LM_TRANSFER_PLACES * LIST);
  round_of_looks();
  lm_lock_take(&lm_visits_round.lock);
  CHECK(lm_transfer_begin_round());
  size_t effort = 8;
  CHECK(look_at_some_places(false, &effort));
  CHECK_THAT(next_places, <=, CLASS + 1);
  lm_lock_free(&lm_visits_round.lock);
}

static void a_trim_sends_all_home_at_once(void) {
  begin();
  keep_blocks(LIST);
  give_middle(6);
  send_all_home();
  CHECK_EQ(lists_given(CLASS), 0);
  check_that_owner_gets(LIST);
  CHECK_EQ(lm_middle_live_count(owner), 0);
  validate_all();
}

static void the_blocks_of_a_heap_that_has_ended_go_to_its_orphans(void) {
  begin();
  keep_blocks(LIST);
  void *block = give_middle(6);
  struct lm_span *span = lm_span_of(block);
  end_heap(owner);
  CHECK_EQ(span->state, LM_SPAN_ORPHAN);
  send_all_home();
  CHECK_EQ(span->state, LM_SPAN_NONE);
  CHECK(lm_orphan_waits(CLASS));
}

int main(void) {
  RUN(a_reserve_of_guests_goes_where_others_find_it);
  RUN(it_is_looked_for_once_the_bin_is_empty);
  RUN(who_always_finds_one_sees_the_clock);
  RUN(where_there_is_no_place_they_stay_and_others_go_home);
  RUN(a_reserve_that_has_more_than_guests_stays);
  RUN(a_first_class_heap_takes_none);
  RUN(where_pages_are_the_program_s_none_are_given);
  RUN(a_middle_block_is_taken_by_its_length_or_a_shorter_one);
  RUN(malloc_takes_it_rather_than_other_pages);
  RUN(so_many_of_a_length_as_there_are_places);
  RUN(what_nobody_takes_goes_home_by_the_second_look);
  RUN(what_has_come_since_the_first_look_stays);
  RUN(a_look_takes_no_longer_than_a_call_may);
  RUN(a_trim_sends_all_home_at_once);
  RUN(the_blocks_of_a_heap_that_has_ended_go_to_its_orphans);
  return UNIT_RESULT();
}
