/* Guests: blocks of another heap that a bin keeps. */
#include "unit.h"

#define CLASS FIRST_GUEST_CLASS
enum { BLOCKS = 1024 };

static struct lm_heap *owner, *host;
static char *blocks[BLOCKS];

static void begin(void) {
  owner = new_heap();
  host = new_heap();
}

static void take_blocks(size_t count) {
  for (size_t i = 0; i < count; i++) blocks[i] = heap_take(owner, CLASS);
}

/* Frees a block by the host's thread, which keeps it or not. */
static bool keep(void *block) { return lm_heap_keep_guest(host, block, lm_tag_of(block) & LM_TAG_CLASS_MASK); }

/* Empties the host's bin of the class, so that it takes guests from here on. */
static void admit(void) {
  heap_take(host, CLASS);
  while (lm_heap_pop(host, CLASS) != NULL) {}
}

/* The host has so many guests. */
static void keep_blocks(size_t count) {
  admit();
  for (size_t i = 0; i < count; i++) CHECK(keep(blocks[i]));
}

/* The owner has the blocks back once it has taken what was sent. */
static void check_that_owner_gets(size_t count) {
  size_t before = lm_heap_validate(owner);
  CHECK(lm_load_relaxed(&owner->inbox) != NULL);
  lm_remote_collect(owner);
  CHECK_EQ(lm_heap_validate(owner), before - count);
}

/* ---- Who may be one ---- */

static void a_bin_takes_guests_once_malloc_has_found_it_empty(void) {
  begin();
  take_blocks(GUESTS_PER_REFILL + 1);
  CHECK(!keep(blocks[0]));
  keep_blocks(GUESTS_PER_REFILL);
  CHECK(!keep(blocks[GUESTS_PER_REFILL]));
  CHECK_EQ(lm_heap_validate(owner), GUESTS_PER_REFILL + 1);
}

static void malloc_hands_out_the_guest_that_was_freed_last(void) {
  begin();
  take_blocks(2);
  keep_blocks(2);
  CHECK_EQ(heap_take(host, CLASS), blocks[1]);
  CHECK_EQ(heap_take(host, CLASS), blocks[0]);
  CHECK_EQ(lm_heap_validate(owner), 2);
}

static void nothing_waits_in_chains_for_a_guest(void) {
  begin();
  take_blocks(1);
  keep_blocks(1);
  CHECK_EQ(host->outbox.weight, 0);
}

static void small_blocks_are_none(void) {
  begin();
  void *block = heap_take(owner, CLASS - 1);
  heap_take(host, CLASS - 1);
  CHECK(!keep(block));
}

/* The owner gets so many parcels of a block each, and takes them or does not. */
static void send_parcels_of_one(size_t count, bool taken) {
  take_blocks(count); /* which may look into the inbox */
  for (size_t i = 0; i < count; i++) {
    heap_give(host, blocks[i]);
    lm_remote_flush(host);
    if (taken) lm_remote_collect(owner);
  }
}

static void find_bin_empty(size_t class_index) {
  heap_take(host, class_index);
  while (lm_heap_pop(host, class_index) != NULL) {}
}

/* How many blocks of the class the host keeps after malloc has found its bin empty, before it gives
 * them to others. */
static size_t count_guests(size_t class_index) {
  size_t count = 0;
  find_bin_empty(class_index);
  while (lm_transfer_read(0, class_index, 0) == NULL && keep(heap_take(owner, class_index))) count++;
  return count;
}

static void while_owners_take_nothing_there_are_more_and_of_all_sizes(void) {
  begin();
  send_parcels_of_one(1 + LM_UNANSWERED / 2, false); /* the first of them does not find others */
  CHECK_EQ(count_guests(4), 0);
  send_parcels_of_one(LM_UNANSWERED, false);
  CHECK_EQ(count_guests(4), UNANSWERED_GUEST_BYTES / lm_classes[4].block_bytes);
  CHECK_EQ(count_guests(lm_sizeclass_of(8 * LM_KIB)), UNANSWERED_GUESTS_MIN);
  send_parcels_of_one(1 + LM_UNANSWERED / LM_ANSWER_WEIGHT, true);
  CHECK_EQ(count_guests(5), 0);
  CHECK_EQ(count_guests(CLASS), GUESTS_PER_REFILL);
}

static void those_stand_in_the_reserve_where_visits_find_them(void) {
  begin();
  enum { COUNT = 100 };
  send_parcels_of_one(2 * LM_UNANSWERED, false);
  find_bin_empty(4);
  for (size_t i = 0; i < COUNT; i++) CHECK(keep(heap_take(owner, 4)));
  CHECK(!lm_is_block(host->bins[4]));
  CHECK_EQ(list_length(host->reserves[4]), COUNT);
  CHECK(heap_take(host, 4) != NULL); /* out of the reserve, which is the bin */
  CHECK_EQ(list_length(host->bins[4]), COUNT - 1);
  CHECK_EQ(host->guests_left[4], lm_guests_per_refill(host, 4)); /* it has room for others */
  lm_heap_validate(host);
}

static void a_bin_that_ages_gives_them_to_others(void) {
  begin();
  send_parcels_of_one(2 * LM_UNANSWERED, false);
  find_bin_empty(4);
  void *own = heap_take(host, 4);
  while (lm_heap_pop(host, 4) != NULL) {}
  CHECK(keep(heap_take(owner, 4)));
  heap_give(host, own);
  struct lm_block *guest = host->reserves[4];
  lm_bin_age(host, 4);
  CHECK_EQ(host->bins[4], LM_NO_BLOCK);
  CHECK_EQ(host->reserves[4], own); /* a reserve as any */
  CHECK_EQ(lm_transfer_read(0, 4, 0), guest);
  lm_heap_validate(host);
}

static void a_reserve_of_guests_alone_tells_of_no_bulk(void) {
  begin();
  send_parcels_of_one(2 * LM_UNANSWERED, false);
  size_t room = lm_classes[CLASS].bin_frees;
  char *own[BLOCKS];
  CHECK_THAT(2 * room + 2, <, BLOCKS);
  for (size_t i = 0; i < BLOCKS; i++) own[i] = heap_take(host, CLASS);
  CHECK(lm_bin_is_bounded(host, CLASS));
  while (lm_is_block(host->bins[CLASS])) heap_take(host, CLASS);
  heap_take(host, CLASS);
  CHECK(keep(heap_take(owner, CLASS)));
  host->frees_left[CLASS] = (int16_t)room;
  host->room_steps[CLASS] = LM_ROOM_STEPS;
  for (size_t i = 0; i < room + 1; i++) heap_give(host, own[i]);
  CHECK_THAT(host->frees_left[CLASS], >=, 0);
  for (size_t i = room + 1; i < 2 * room + 2; i++) heap_give(host, own[i]);
  CHECK_EQ(host->frees_left[CLASS], LM_NO_FREES_LEFT); /* malloc has not taken it meanwhile */
  lm_heap_validate(host);
}

static void no_bin_takes_a_middle_block(void) {
  begin();
  void *block = lm_middle_take(owner, 5, false);
  lm_middle_take(host, 5, false);
  CHECK(!keep(block));
}

/* As if malloc had found no cached block that fits. */
static void admit_middle(void) { host->middle.guests_left = lm_middle_guests_most(); }

static void the_cache_of_middle_blocks_takes_what_it_has_room_for(void) {
  begin();
  admit_middle();
  size_t room = CACHE_BYTES / PAGE;
  for (size_t i = 0; i <= room; i++) CHECK((blocks[i] = lm_middle_take(owner, 1, false)) != NULL);
  for (size_t i = 0; i < room; i++) CHECK(lm_middle_keep_guest(host, blocks[i]));
  CHECK(!lm_middle_keep_guest(host, blocks[room]));
  CHECK(!lm_middle_keep_guest(host, blocks[0])); /* it is free */
  CHECK(!lm_middle_keep_guest(host, blocks[room] + PAGE));
  CHECK(!lm_middle_keep_guest(host, blocks[room] + LM_GRANULE_BYTES));
  lm_heap_validate(host);
  lm_heap_validate(owner); /* to which the program has them still */
  CHECK_EQ(owner->middle.used_count, room + 1);
  CHECK_EQ(lm_middle_live_count(host), 0);
  CHECK_EQ(lm_middle_take(host, 1, false), blocks[room - 1]);
  CHECK_EQ(lm_region_live_pages(blocks[room - 1]), 1);
  CHECK_EQ(host->middle.used_count, 0);
  lm_heap_validate(host);
}

static void it_takes_them_once_malloc_has_found_none_that_fits_and_as_malloc_takes_them(void) {
  begin();
  void *block = lm_middle_take(owner, 1, false);
  CHECK(!lm_middle_keep_guest(host, block));
  void *own = lm_middle_take(host, 1, false);
  CHECK_EQ(host->middle.guests_left, lm_middle_guests_most());
  CHECK(lm_middle_keep_guest(host, block));
  CHECK_EQ(host->middle.guests_left, lm_middle_guests_most() - 1);
  CHECK_EQ(lm_middle_take_at_once(host, 0), block);
  CHECK_EQ(host->middle.guests_left, lm_middle_guests_most());
  CHECK(lm_middle_give(host, own));
  CHECK_EQ(lm_middle_take_at_once(host, 0), own);
  CHECK(lm_middle_keep_guest(host, block)); /* no more than that */
  CHECK_EQ(host->middle.guests_left, lm_middle_guests_most() - 1);
}

static void middle_guests_go_home_when_the_cache_is_emptied(void) {
  begin();
  admit_middle();
  size_t count = CACHE_BYTES / PAGE;
  for (size_t i = 0; i < count; i++) CHECK((blocks[i] = lm_middle_take(owner, 1, false)) != NULL);
  for (size_t i = 0; i < count; i++) CHECK(lm_middle_keep_guest(host, blocks[i]));
  CHECK(lm_middle_release(host, SIZE_MAX));
  CHECK_EQ(lm_middle_cached_count(host), 0);
  lm_remote_collect(owner);
  CHECK_EQ(lm_middle_live_count(owner), 0);
  CHECK_EQ(lm_middle_cached_count(owner), count);
  lm_heap_validate(host);
  lm_heap_validate(owner);
}

static void a_middle_guest_whose_chunk_was_adopted_is_ones_own(void) {
  begin();
  admit_middle();
  CHECK((blocks[0] = lm_middle_take(owner, 1, false)) != NULL);
  CHECK(lm_middle_keep_guest(host, blocks[0]));
  end_heap(owner);
  CHECK(lm_middle_take(host, 2, false) != NULL); /* from the orphan */
  CHECK_EQ(lm_load_relaxed(&lm_span_of(blocks[0])->owner), host);
  lm_heap_validate(host);
  CHECK(lm_middle_release(host, SIZE_MAX));
  CHECK_EQ(host->middle.used_count, 2);
  lm_heap_validate(host);
}

static void blocks_of_orphans_are_none(void) {
  begin();
  take_blocks(1);
  admit();
  end_heap(owner);
  CHECK(!keep(blocks[0]));
}

static void what_is_in_no_span_is_none(void) {
  begin();
  admit();
  char *large = lm_large_take(host, MIB, PAGE, false);
  for (size_t i = 0; i < LM_CLASS_MIDDLE; i++) {
    CHECK(!lm_heap_keep_guest(host, NULL, i));
    CHECK(!lm_heap_keep_guest(host, (struct lm_block *)large, i));
  }
}

static void the_empty_heap_takes_none(void) {
  begin();
  take_blocks(1);
  CHECK(!lm_heap_keep_guest(&lm_empty_heap, (void *)blocks[0], CLASS));
}

/* ---- How they go home ---- */

static void a_heap_that_ends_sends_its_guests_home(void) {
  begin();
  take_blocks(3);
  keep_blocks(2);
  lm_heap_end(host); /* and is kept for the next thread */
  CHECK_EQ(host->bins[CLASS], LM_NO_BLOCK);
  check_that_owner_gets(2);
}

static void a_trim_does(void) {
  begin();
  take_blocks(3);
  keep_blocks(2);
  lm_heap_trim(host);
  check_that_owner_gets(2);
}

static void those_in_a_reserve_go_home_as_well(void) {
  begin();
  take_blocks(3);
  keep_blocks(2);
  host->reserves[CLASS] = host->bins[CLASS];
  host->bins[CLASS] = LM_NO_BLOCK;
  lm_heap_trim(host);
  check_that_owner_gets(2);
}

/* All classes are looked at, and what drains does. */
static void tick_host(void) {
  host->tick.last_ms = lm_os_clock_ms() - lm_options.purge_delay_ms;
  for (int i = 0; i < 8; i++) lm_heap_tick(host);
}

static void ticks_send_those_of_a_bin_that_is_not_used(void) {
  begin();
  take_blocks(3);
  keep_blocks(2);
  tick_host();
  CHECK_EQ(lm_heap_validate(owner), 3);
  tick_host();
  tick_host();
  check_that_owner_gets(2);
  CHECK(!keep(blocks[2]));
}

static void a_tick_finds_an_empty_bin_and_it_takes_none_any_longer(void) {
  begin();
  take_blocks(1);
  admit();
  tick_host();
  CHECK(!keep(blocks[0]));
}

static void a_thread_that_does_nothing_but_free_sends_them(void) {
  begin();
  take_blocks(BLOCKS);
  keep_blocks(4);
  size_t sent = 4;
  while (host->bulk.parts_since_refill < PARTS_OF_BULK) heap_give(host, blocks[sent++]);
  CHECK(!keep(blocks[sent]));
  CHECK(host->drain.goes_on);
  while (host->bins[CLASS] != LM_NO_BLOCK || host->reserves[CLASS] != NULL)
    heap_give(host, blocks[sent++]);
  CHECK_THAT(sent, <, BLOCKS);
  lm_remote_flush(host);
  check_that_owner_gets(sent);
}

static void each_time_that_malloc_finds_a_bin_empty_it_starts_counting_again(void) {
  begin();
  take_blocks(BLOCKS);
  admit();
  size_t sent = 0;
  while (host->bulk.parts_since_refill < PARTS_OF_BULK - 1) heap_give(host, blocks[sent++]);
  admit();
  CHECK_EQ(host->bulk.parts_since_refill, 0);
  CHECK(keep(blocks[sent]));
}

static void what_has_become_ones_own_goes_into_its_span(void) {
  begin();
  take_blocks(3);
  keep_blocks(2);
  end_heap(owner);
  CHECK(lm_orphan_adopt_span(host, lm_span_of(blocks[0])));
  lm_heap_own(host, lm_span_of(blocks[0]));
  size_t before = lm_heap_validate(host);
  lm_heap_flush_guests(host);
  CHECK_EQ(host->bins[CLASS], LM_NO_BLOCK);
  CHECK_EQ(lm_heap_validate(host), before);
  CHECK_EQ(host->outbox.weight, 0);
}

static void a_guest_costs_two_of_the_blocks_that_a_call_puts_back(void) {
  begin();
  take_blocks(BLOCKS);
  keep_blocks(8);
  lm_heap_send_guests(host);
  lm_bins_drain(host, LM_DRAINED_BY_CALL);
  CHECK_EQ(list_length(host->bins[CLASS]), 8 - LM_DRAINED_BY_CALL / GUEST_COST);
}

int main(void) {
  RUN(a_bin_takes_guests_once_malloc_has_found_it_empty);
  RUN(malloc_hands_out_the_guest_that_was_freed_last);
  RUN(nothing_waits_in_chains_for_a_guest);
  RUN(small_blocks_are_none);
  RUN(while_owners_take_nothing_there_are_more_and_of_all_sizes);
  RUN(those_stand_in_the_reserve_where_visits_find_them);
  RUN(a_bin_that_ages_gives_them_to_others);
  RUN(a_reserve_of_guests_alone_tells_of_no_bulk);
  RUN(no_bin_takes_a_middle_block);
  RUN(the_cache_of_middle_blocks_takes_what_it_has_room_for);
  RUN(it_takes_them_once_malloc_has_found_none_that_fits_and_as_malloc_takes_them);
  RUN(middle_guests_go_home_when_the_cache_is_emptied);
  RUN(a_middle_guest_whose_chunk_was_adopted_is_ones_own);
  RUN(blocks_of_orphans_are_none);
  RUN(what_is_in_no_span_is_none);
  RUN(the_empty_heap_takes_none);
  RUN(a_heap_that_ends_sends_its_guests_home);
  RUN(a_trim_does);
  RUN(those_in_a_reserve_go_home_as_well);
  RUN(ticks_send_those_of_a_bin_that_is_not_used);
  RUN(a_tick_finds_an_empty_bin_and_it_takes_none_any_longer);
  RUN(a_thread_that_does_nothing_but_free_sends_them);
  RUN(each_time_that_malloc_finds_a_bin_empty_it_starts_counting_again);
  RUN(what_has_become_ones_own_goes_into_its_span);
  RUN(a_guest_costs_two_of_the_blocks_that_a_call_puts_back);
  return UNIT_RESULT();
}
