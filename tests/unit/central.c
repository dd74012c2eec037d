// tsan: yes
/* Central heaps: how blocks leave spans and come back, whosever they are, which spans stay, and what
 * one central takes of others. */
#include "unit.h"

#define STAYS_CLASS lm_sizeclass_of(64)   /* below LM_ELSEWHERE_MIN_BYTES */
#define MOVES_CLASS lm_sizeclass_of(256)

static size_t span_blocks(size_t class_index) { return lm_classes[class_index].block_count; }

/* So many blocks, each its own list. */
static void take_blocks(struct lm_central *central, size_t class_index, struct lm_block **blocks,
                        size_t count) {
  for (size_t i = 0; i < count;) {
    size_t taken;
    struct lm_block *block = take_list(central, class_index, count - i, &taken);
    CHECK(block != NULL);
    for (; lm_is_block(block); block = lm_block_next(block)) blocks[i++] = block;
  }
}

static void put_blocks(struct lm_block **blocks, size_t count) {
  for (size_t i = 0; i < count; i++) lm_central_put(blocks[i], NULL);
}

static size_t slices_in_use(void) {
  size_t count = 0;
  for (unsigned i = 0; i < lm_pool_count; i++) count += lm_pools[i].span_slice_count;
  return count;
}

/* ---- Which centrals there are ---- */

static void a_central_is_made_when_it_is_asked_for(void) {
  have_centrals(64);
  for (uint32_t i = 0; i < 64; i++) CHECK_EQ(lm_central_if_made(i), NULL);
  struct lm_central *central = central_at(5);
  CHECK_EQ(lm_central_if_made(5), central);
  CHECK_EQ(central_at(5), central);
  CHECK_EQ(central->index, 5);
  for (uint32_t i = 0; i < 64; i++) CHECK_EQ(lm_central_if_made(i) != NULL, i == 5);
}

static void an_index_beyond_their_number_is_taken_modulo_it(void) {
  have_centrals(64);
  CHECK_EQ(central_at(64 + 7), central_at(7));
}

static void centrals_are_spread_over_the_pools(void) {
  have_centrals(64);
  lm_pool_count = LM_POOL_MAX;
  for (uint32_t i = 0; i < 64; i++) CHECK_EQ(central_at(i)->pool, &lm_pools[i % LM_POOL_MAX]);
}

/* Its record is zero but for the beginning, and its pages are the system's until it has something. */
static void an_idle_central_costs_next_to_nothing(void) {
  have_centrals(LM_CENTRAL_MAX);
  size_t resident = 0;
  for (uint32_t i = 0; i < LM_CENTRAL_MAX; i++) central_at(i);
  const struct lm_meta_batch *batch = lm_load_acquire(&lm_meta_batches);
  for (; batch != NULL; batch = batch->next)
    resident += lm_os_resident_bytes(batch, LM_META_BATCH_BYTES);
  CHECK_THAT(resident / LM_CENTRAL_MAX, <=, 2 * PAGE);
  CHECK_THAT(resident, <, LM_CENTRAL_MAX * sizeof(struct lm_central));
}

static void without_memory_there_is_no_central_until_there_is_some(void) {
  refuse_all(true);
  CHECK_EQ(lm_central_at(0), NULL);
  refuse_all(false);
  central_at(0);
}

static void check_named(uint32_t count, uintptr_t word, uint32_t own_index) {
  struct lm_central own = {.index = own_index};
  uint8_t named[LM_CENTRAL_MAX] = {0};
  uint32_t place = 0, index;
  have_centrals(count);
  while ((index = lm_central_next_noted(word, &own, &place)) != LM_CENTRAL_MAX) named[index]++;
  for (uint32_t i = 0; i < count; i++)
    CHECK_EQ(named[i], i != own_index && (word >> i % (8 * sizeof word) & 1) != 0);
}

static void each_noted_central_is_named_once_and_the_callers_own_never(void) {
  static const uint32_t counts[] = {1, 2, 3, 31, 64, 65, 200, LM_CENTRAL_MAX};
  uint64_t random = 1;
  for (size_t i = 0; i < COUNT_OF(counts); i++) {
    for (int turn = 0; turn < 50; turn++) {
      uintptr_t word = (uintptr_t)random_next(&random) & (uintptr_t)random_next(&random);
      check_named(counts[i], word, (uint32_t)(random_next(&random) % counts[i]));
    }
    check_named(counts[i], 0, 0);
    check_named(counts[i], UINTPTR_MAX, counts[i] - 1);
  }
}

static void the_next_noted_central_is_the_nearest(void) {
  have_centrals(64);
  struct lm_central own = {.index = 30};
  uint32_t place = 0;
  uintptr_t word = (uintptr_t)1 << 2 | (uintptr_t)1 << 29 | (uintptr_t)1 << 31;
  CHECK_EQ(lm_central_next_noted(word, &own, &place), 31);
  if (LM_BITS_64) CHECK_EQ(lm_central_next_noted(word, &own, &place), 2);
}

/* As if another thread had it. */
static void who_finds_a_central_locked_enters_another(void) {
  have_centrals(4);
  struct lm_central *central = central_at(1);
  lm_store_relaxed(&central->lock.state, 1);
  struct lm_central *other = lm_central_enter(central);
  CHECK(other != central);
  lm_central_leave(other);
  lm_store_relaxed(&central->lock.state, 0);
  CHECK_EQ(lm_central_enter(central), central);
  lm_central_leave(central);
}

/* ---- Out of spans, and back ---- */

static void a_take_gives_as_many_as_are_wanted_or_fewer(void) {
  struct lm_central *central = central_at(0);
  for (size_t want = 1; want < 1000; want = want * 2 + 1) {
    size_t count;
    struct lm_block *first = take_list(central, STAYS_CLASS, want, &count);
    CHECK(count >= 1 && count <= want && count <= LM_CENTRAL_BLOCKS_AT_ONCE);
    CHECK_EQ(length_of(first), count);
    lm_central_validate(central);
  }
}

static void no_block_is_lost_and_none_is_given_twice(void) {
  static struct lm_block *blocks[5000];
  static const size_t sizes[] = {16, 48, 64, 256, 1000, 4096, 16384};
  for (size_t s = 0; s < COUNT_OF(sizes); s++) {
    size_t class_index = lm_sizeclass_of(sizes[s]), held = 0;
    struct lm_central *central = central_at(0);
    uint64_t random = s + 1;
    for (int turn = 0; turn < 2000; turn++) {
      if (held < 1000 && random_next(&random) % 2 == 0) {
        size_t count = 1 + random_next(&random) % 40;
        take_blocks(central, class_index, blocks + held, count);
        for (size_t i = 0; i < count; i++) *((uint32_t *)blocks[held + i] + 2) = 0;
        held += count;
      } else if (held > 0) {
        size_t i = random_next(&random) % held;
        CHECK_EQ(++*((uint32_t *)blocks[i] + 2), 1); /* nobody else has put it */
        lm_central_put(blocks[i], NULL);
        blocks[i] = blocks[--held];
      }
    }
    CHECK_EQ(find_blocks(class_index).taken, held);
    lm_central_validate(central);
    put_blocks(blocks, held);
    CHECK_EQ(find_blocks(class_index).taken, 0);
    lm_central_validate(central);
  }
}

static void what_was_put_back_is_taken_before_a_span_begins(void) {
  static struct lm_block *blocks[3000];
  struct lm_central *central = central_at(0);
  take_blocks(central, STAYS_CLASS, blocks, COUNT_OF(blocks));
  size_t slices = slices_in_use();
  put_blocks(blocks, COUNT_OF(blocks) / 2);
  take_blocks(central, STAYS_CLASS, blocks, COUNT_OF(blocks) / 2);
  CHECK_EQ(slices_in_use(), slices);
}

/* Of a span that a block in use keeps. */
static void what_was_freed_in_any_order_is_taken_in_the_order_of_addresses(void) {
  if (LM_HARDENED_ORDER) return;
  static struct lm_block *blocks[LM_SPAN_BLOCKS_MAX];
  struct lm_central *central = central_at(0);
  size_t count = span_blocks(STAYS_CLASS), ascending = 0;
  uint64_t random = 5;
  take_blocks(central, STAYS_CLASS, blocks, count);
  for (size_t i = count - 1; i > 1; i--) {
    size_t other = 1 + random_next(&random) % i;
    struct lm_block *block = blocks[i];
    blocks[i] = blocks[other];
    blocks[other] = block;
  }
  put_blocks(blocks + 1, count - 1);
  lm_central_validate_class(central, STAYS_CLASS);
  take_blocks(central, STAYS_CLASS, blocks + 1, count - 1);
  for (size_t i = 2; i < count; i++) ascending += blocks[i] > blocks[i - 1];
  CHECK_EQ(ascending, count - 2);
  CHECK_EQ(lm_span_of(blocks[0])->unsorted_count, 0);
}

static void a_list_of_blocks_of_several_centrals_goes_to_each_ones_own(void) {
  have_centrals(3);
  struct lm_block *list = LM_NO_BLOCK;
  struct lm_block *blocks[3][50];
  for (uint32_t c = 0; c < 3; c++) take_blocks(central_at(c), STAYS_CLASS, blocks[c], 50);
  for (size_t i = 0; i < 150; i++) {
    struct lm_block *block = blocks[i % 3][i / 3];
    CHECK_EQ(lm_span_of(block)->central, central_at(i % 3));
    lm_block_link(block, list);
    list = block;
  }
  lm_central_put_list(list, false);
  for (uint32_t c = 0; c < 3; c++) {
    lm_central_validate(central_at(c));
    CHECK_THAT(central_at(c)->classes[STAYS_CLASS].free_count, >=, 50);
  }
  CHECK_EQ(find_blocks(STAYS_CLASS).taken, 0);
}

static void *put_in_thread(void *list) {
  lm_central_put_list(list, false);
  return NULL;
}

static void frees_of_any_thread_reach_the_central_of_the_span(void) {
  have_centrals(2);
  struct lm_block *list = take_whole_list(central_at(1), MOVES_CLASS);
  run_in_thread(put_in_thread, list);
  lm_central_validate(central_at(1));
  CHECK_EQ(find_blocks(MOVES_CLASS).taken, 0);
  CHECK_THAT(central_at(1)->classes[MOVES_CLASS].free_count, >=, lm_list_blocks[MOVES_CLASS]);
  CHECK_EQ(lm_central_if_made(0), NULL);
}

static void blocks_of_any_classes_and_centrals_are_put_together(void) {
  static const size_t sizes[] = {16, 64, 256, 1024};
  struct lm_block *mixed[32];
  have_centrals(2);
  for (size_t i = 0; i < COUNT_OF(mixed); i++)
    take_blocks(central_at(i / 3 % 2), lm_sizeclass_of(sizes[i / 2 % 4]), &mixed[i], 1);
  lm_central_put_blocks(mixed, COUNT_OF(mixed));
  validate_all();
  for (size_t i = 0; i < COUNT_OF(sizes); i++)
    CHECK_EQ(find_blocks(lm_sizeclass_of(sizes[i])).taken, 0);
  CHECK_EQ(slices_in_use(), 0); /* no empty span stays */
}

/* ---- Empty spans ---- */

static void empty_spans_go_to_the_pool_and_one_stays(void) {
  size_t count = 4 * span_blocks(MOVES_CLASS);
  static struct lm_block *blocks[LM_SPAN_BLOCKS_MAX];
  struct lm_central *central = central_at(0);
  take_blocks(central, MOVES_CLASS, blocks, count);
  CHECK_EQ(find_blocks(MOVES_CLASS).span_count, 4);
  put_blocks(blocks, count);
  validate_all();
  CHECK_EQ(find_blocks(MOVES_CLASS).span_count, 1);
  CHECK_EQ(slices_in_use(), lm_classes[MOVES_CLASS].slice_count);
}

static void no_empty_span_stays_beside_one_with_free_blocks(void) {
  size_t count = 3 * span_blocks(MOVES_CLASS);
  static struct lm_block *blocks[LM_SPAN_BLOCKS_MAX];
  struct lm_central *central = central_at(0);
  take_blocks(central, MOVES_CLASS, blocks, count);
  lm_central_put(blocks[0], NULL);
  put_blocks(blocks + span_blocks(MOVES_CLASS), count - span_blocks(MOVES_CLASS));
  validate_all();
  CHECK_EQ(find_blocks(MOVES_CLASS).span_count, 1);
}

static void a_span_that_stays_empty_ends_when_it_is_looked_at_twice(void) {
  size_t count;
  struct lm_central *central = central_at(0);
  struct lm_block *block = take_list(central, MOVES_CLASS, 1, &count);
  lm_central_put(block, NULL);
  lm_central_end_empty(central, MOVES_CLASS, false);
  CHECK_EQ(slices_in_use(), 1);
  lm_central_end_empty(central, MOVES_CLASS, false);
  CHECK_EQ(slices_in_use(), 0);
  validate_all();
}

static void a_span_that_stays_empty_ends_at_once_on_demand(void) {
  size_t count;
  struct lm_central *central = central_at(0);
  lm_central_put(take_list(central, MOVES_CLASS, 1, &count), NULL);
  lm_central_end_empty(central, MOVES_CLASS, true);
  CHECK_EQ(slices_in_use(), 0);
  validate_all();
}

static void a_span_that_has_been_used_meanwhile_stays_for_another_look(void) {
  size_t count;
  struct lm_central *central = central_at(0);
  for (int i = 0; i < 5; i++) {
    lm_central_put(take_list(central, MOVES_CLASS, 1, &count), NULL);
    lm_central_end_empty(central, MOVES_CLASS, false);
    CHECK_EQ(slices_in_use(), 1);
  }
}

/* ---- Of others ---- */

/* Central 0 has three spans' worth of free blocks, and central 1 nothing. */
static void free_much_in_central_0(size_t class_index) {
  static struct lm_block *blocks[3 * LM_SPAN_BLOCKS_MAX];
  size_t count = 3 * span_blocks(class_index);
  have_centrals(2);
  take_blocks(central_at(0), class_index, blocks, count);
  for (size_t i = 0; i < count; i++)
    if (i % span_blocks(class_index) != 0) lm_central_put(blocks[i], NULL);
}

static struct lm_central *central_that_serves(uint32_t index, size_t class_index) {
  size_t count;
  return lm_span_of(take_list(central_at(index), class_index, 1, &count))->central;
}

static void small_blocks_are_not_taken_of_other_centrals(void) {
  CHECK_THAT(lm_sizeclass_bytes(STAYS_CLASS), <, LM_ELSEWHERE_MIN_BYTES);
  free_much_in_central_0(STAYS_CLASS);
  CHECK_EQ(central_that_serves(1, STAYS_CLASS), central_at(1));
}

static void larger_blocks_are_taken_of_other_centrals_before_a_span_begins(void) {
  CHECK_THAT(lm_sizeclass_bytes(MOVES_CLASS), >=, LM_ELSEWHERE_MIN_BYTES);
  free_much_in_central_0(MOVES_CLASS);
  size_t slices = slices_in_use();
  CHECK_EQ(central_that_serves(1, MOVES_CLASS), central_at(0));
  CHECK_EQ(slices_in_use(), slices);
  validate_all();
}

static void a_central_with_blocks_of_its_own_takes_none_of_others(void) {
  free_much_in_central_0(MOVES_CLASS);
  lm_central_end_empty(central_at(1), MOVES_CLASS, true);
  lm_store_relaxed(&lm_central_words[MOVES_CLASS], 0); /* nobody knows */
  size_t count;
  struct lm_block *block = take_list(central_at(1), MOVES_CLASS, 1, &count);
  CHECK_EQ(lm_span_of(block)->central, central_at(1));
  lm_central_put(block, NULL);
  lm_central_note(&lm_central_words[MOVES_CLASS], central_at(0));
  CHECK_EQ(central_that_serves(1, MOVES_CLASS), central_at(1));
}

static void less_than_a_list_is_left_to_its_central_which_is_noted_no_longer(void) {
  have_centrals(2);
  struct lm_block *blocks[4];
  take_blocks(central_at(0), MOVES_CLASS, blocks, 4);
  put_blocks(blocks, 2);
  lm_central_note(&lm_central_words[MOVES_CLASS], central_at(0));
  CHECK_EQ(central_that_serves(1, MOVES_CLASS), central_at(1));
  CHECK_EQ(lm_load_relaxed(&lm_central_words[MOVES_CLASS]), 0);
}

static void a_central_that_is_locked_is_entered_after_those_that_are_not(void) {
  have_centrals(4);
  struct lm_central_walk walk = {0, 0, NULL};
  for (uint32_t i = 1; i < 4; i++) walk.noted |= (uintptr_t)1 << central_at(i)->index;
  lm_store_relaxed(&central_at(1)->lock.state, 1); /* as if another thread had it */
  for (uint32_t i = 2; i < 4; i++) {
    CHECK_EQ(lm_central_enter_next(&walk, central_at(0)), central_at(i));
    lm_central_leave(central_at(i));
  }
  lm_store_relaxed(&central_at(1)->lock.state, 0);
  CHECK_EQ(lm_central_enter_next(&walk, central_at(0)), central_at(1));
  lm_central_leave(central_at(1));
  CHECK_EQ(lm_central_enter_next(&walk, central_at(0)), NULL);
}

static _Atomic(bool) has_central_0;
static void *have_central_0_for_a_while(void *unused) {
  lm_lock_take(&central_at(0)->lock);
  atomic_store(&has_central_0, true);
  sleep_ms(20);
  lm_lock_free(&central_at(0)->lock);
  return unused;
}

static void what_another_central_has_is_waited_for_before_a_span_begins(void) {
  free_much_in_central_0(MOVES_CLASS);
  pthread_t thread = start_thread(have_central_0_for_a_while, NULL);
  while (!atomic_load(&has_central_0)) sleep_ms(1);
  CHECK_EQ(central_that_serves(1, MOVES_CLASS), central_at(0));
  join_thread(thread);
}

/* ---- Out of memory ---- */

static void take_in_spite_of_faults(void) {
  struct lm_central *central = central_at(0);
  struct lm_block *block = NULL;
  size_t count;
  for (long fault = 0; block == NULL; fault++) {
    CHECK_THAT(fault, <, 20);
    lm_fault_countdown = fault;
    block = take_list(central, MOVES_CLASS, 4, &count);
    validate_all();
    if (block == NULL) CHECK_EQ(slices_in_use(), 0);
  }
  lm_fault_countdown = -1;
  lm_central_put_list(block, false);
  CHECK_EQ(find_blocks(MOVES_CLASS).taken, 0);
}

static void a_system_call_that_fails_leaves_no_span_behind(void) { take_in_spite_of_faults(); }

static void nor_without_overcommit(void) {
  lm_os.overcommit = false;
  take_in_spite_of_faults();
}

static void nor_where_a_purge_decommits(void) {
  lm_os.overcommit = false;
  lm_os.purge_decommits = true;
  take_in_spite_of_faults();
}

static void asking_on_while_commits_are_refused_takes_no_more_spans(void) {
  lm_os.overcommit = false;
  lm_os.purge_decommits = true;
  struct lm_central *central = central_at(0);
  size_t count, held = 0;
  struct lm_block *list = LM_NO_BLOCK, *block;
  lm_central_put(take_list(central, MOVES_CLASS, 1, &count), NULL);
  refuse_all(true);
  while ((block = take_list(central, MOVES_CLASS, 1, &count)) != NULL) {
    lm_block_link(block, list);
    list = block;
    held++;
  }
  size_t slices = slices_in_use();
  for (int i = 0; i < 100; i++) CHECK_EQ(take_list(central, MOVES_CLASS, 8, &count), NULL);
  CHECK_EQ(slices_in_use(), slices);
  refuse_all(false);
  validate_all();
  CHECK_EQ(find_blocks(MOVES_CLASS).taken, held);
  block = take_list(central, MOVES_CLASS, 8, &count);
  CHECK(block != NULL);
  lm_central_put_list(block, false);
  lm_central_put_list(list, false);
  lm_central_end_empty(central, MOVES_CLASS, true);
  CHECK_EQ(slices_in_use(), 0);
}

/* ---- Several threads ---- */

enum { THREADS = 4, LISTS = 8, TURNS = 3000 };
static _Atomic(struct lm_block *) exchanged[LISTS];
static const size_t exchanged_sizes[] = {32, 256, 2048};

/* Takes of one central or another, and puts what anybody has taken. */
static void *take_and_put(void *argument) {
  uint64_t random = (uintptr_t)argument;
  for (int turn = 0; turn < TURNS; turn++) {
    size_t class_index = lm_sizeclass_of(exchanged_sizes[random_next(&random) % 3]), count;
    struct lm_central *central = central_at((uint32_t)(random_next(&random) % lm_central_count));
    struct lm_block *list = take_list(central, class_index, 1 + random_next(&random) % 30, &count);
    CHECK(list != NULL);
    list = atomic_exchange(&exchanged[random_next(&random) % LISTS], list);
    if (list != NULL) lm_central_put_list(list, false);
    if (turn % 64 == 0) lm_central_end_empty(central, class_index, turn % 128 == 0);
    if (turn % 500 == 0) lm_central_validate(central);
  }
  return NULL;
}

static void threads_take_and_put_at_the_same_time_and_nothing_is_lost(void) {
  pthread_t threads[THREADS];
  have_centrals(3);
  for (size_t i = 0; i < THREADS; i++) threads[i] = start_thread(take_and_put, (void *)(i + 1));
  for (size_t i = 0; i < THREADS; i++) join_thread(threads[i]);
  for (size_t i = 0; i < LISTS; i++)
    if (exchanged[i] != NULL) lm_central_put_list(exchanged[i], false);
  validate_all();
  for (size_t i = 0; i < COUNT_OF(exchanged_sizes); i++) {
    size_t class_index = lm_sizeclass_of(exchanged_sizes[i]);
    CHECK_EQ(find_blocks(class_index).taken, 0);
    for (uint32_t c = 0; c < 3; c++) lm_central_end_empty(central_at(c), class_index, true);
  }
  CHECK_EQ(slices_in_use(), 0);
}

static _Atomic(struct lm_central *) made_by[THREADS];
static void *make_one(void *place) {
  atomic_store((_Atomic(struct lm_central *) *)place, central_at(1));
  return NULL;
}

static void threads_that_ask_for_the_same_central_first_get_the_same(void) {
  pthread_t threads[THREADS];
  have_centrals(2);
  for (size_t i = 0; i < THREADS; i++) threads[i] = start_thread(make_one, &made_by[i]);
  for (size_t i = 0; i < THREADS; i++) join_thread(threads[i]);
  for (size_t i = 0; i < THREADS; i++) CHECK_EQ(made_by[i], lm_central_if_made(1));
}

int main(void) {
  RUN(a_central_is_made_when_it_is_asked_for);
  RUN(an_index_beyond_their_number_is_taken_modulo_it);
  RUN(centrals_are_spread_over_the_pools);
  RUN(an_idle_central_costs_next_to_nothing);
  RUN(without_memory_there_is_no_central_until_there_is_some);
  RUN(each_noted_central_is_named_once_and_the_callers_own_never);
  RUN(the_next_noted_central_is_the_nearest);
  RUN(who_finds_a_central_locked_enters_another);
  RUN(a_take_gives_as_many_as_are_wanted_or_fewer);
  RUN(no_block_is_lost_and_none_is_given_twice);
  RUN(what_was_put_back_is_taken_before_a_span_begins);
  RUN(what_was_freed_in_any_order_is_taken_in_the_order_of_addresses);
  RUN(a_list_of_blocks_of_several_centrals_goes_to_each_ones_own);
  RUN(frees_of_any_thread_reach_the_central_of_the_span);
  RUN(blocks_of_any_classes_and_centrals_are_put_together);
  RUN(empty_spans_go_to_the_pool_and_one_stays);
  RUN(no_empty_span_stays_beside_one_with_free_blocks);
  RUN(a_span_that_stays_empty_ends_when_it_is_looked_at_twice);
  RUN(a_span_that_stays_empty_ends_at_once_on_demand);
  RUN(a_span_that_has_been_used_meanwhile_stays_for_another_look);
  RUN(small_blocks_are_not_taken_of_other_centrals);
  RUN(larger_blocks_are_taken_of_other_centrals_before_a_span_begins);
  RUN(a_central_with_blocks_of_its_own_takes_none_of_others);
  RUN(less_than_a_list_is_left_to_its_central_which_is_noted_no_longer);
  RUN(a_central_that_is_locked_is_entered_after_those_that_are_not);
  RUN(what_another_central_has_is_waited_for_before_a_span_begins);
  RUN(a_system_call_that_fails_leaves_no_span_behind);
  RUN(nor_without_overcommit);
  RUN(nor_where_a_purge_decommits);
  RUN(asking_on_while_commits_are_refused_takes_no_more_spans);
  RUN(threads_take_and_put_at_the_same_time_and_nothing_is_lost);
  RUN(threads_that_ask_for_the_same_central_first_get_the_same);
  return UNIT_RESULT();
}
