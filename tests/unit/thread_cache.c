// tsan: yes
/* Threads' caches: what is kept and for how long, how lists come and go, and that no block is lost. */
#include "unit.h"

#define CLASS lm_sizeclass_of(64)
#define LARGER_CLASS lm_sizeclass_of(1024)

static size_t lists_length(const struct lm_cache *cache, size_t class_index) {
  return length_of(cache->lists[class_index]);
}

static size_t bytes_in(const struct lm_cache *cache) {
  size_t bytes = 0;
  for (size_t i = 1; i < LM_BIN_COUNT; i++) bytes += lists_length(cache, i) * lm_sizeclass_bytes(i);
  for (size_t i = 0; i < cache->homeward.count; i++)
    bytes += lm_raw_usable_bytes(cache->homeward.blocks[i]);
  return bytes;
}

static size_t slices_in_use(void) {
  size_t count = 0;
  for (unsigned i = 0; i < lm_pool_count; i++) count += lm_pools[i].span_slice_count;
  return count;
}

/* Free blocks of the class that are in no pool. */
static size_t idle_bytes(size_t class_index) {
  struct whereabouts where = find_blocks(class_index);
  return (where.listed + where.in_caches + where.in_depots) * lm_sizeclass_bytes(class_index);
}

static void end_all_free_memory(void) {
  lm_tick_trim(0);
  validate_all();
}

enum { MANY = 20000 };
static void *blocks[MANY];

static void take_many(struct lm_cache *cache, size_t class_index, size_t count) {
  for (size_t i = 0; i < count; i++) {
    blocks[i] = cache_take(cache, class_index);
    CHECK(blocks[i] != NULL);
  }
}
static void give_many(struct lm_cache *cache, size_t count) {
  for (size_t i = 0; i < count; i++) cache_give(cache, blocks[i]);
}

/* ---- Lists ---- */

static void what_was_freed_last_is_taken_first(void) {
  struct lm_cache *cache = new_cache();
  void *first = cache_take(cache, CLASS), *second = cache_take(cache, CLASS);
  cache_give(cache, first);
  cache_give(cache, second);
  CHECK_EQ(cache_take(cache, CLASS), second);
  CHECK_EQ(cache_take(cache, CLASS), first);
  lm_cache_validate(cache);
}

static void lists_are_no_longer_than_they_may_be_whatever_a_program_does(void) {
  static const size_t sizes[] = {16, 64, 100, 1024, 5000, 16384, 40000, 200000};
  struct lm_cache *cache = new_cache();
  static void *held[COUNT_OF(sizes)][300];
  size_t count[COUNT_OF(sizes)] = {0};
  uint64_t random = 7;
  for (int turn = 0; turn < 40000; turn++) {
    size_t kind = random_next(&random) % COUNT_OF(sizes);
    size_t class_index = sizes[kind] <= lm_classed_max_bytes ? lm_sizeclass_of(sizes[kind])
                                                             : lm_middle_class(sizes[kind]);
    bool grows = (random_next(&random) + (uint64_t)turn / 500) % 2 == 0;
    if (grows && count[kind] < 300) held[kind][count[kind]++] = cache_take(cache, class_index);
    else if (count[kind] > 0) cache_give(cache, held[kind][--count[kind]]);
    if (turn % 100 == 0) lm_cache_validate(cache);
    if (turn % 4000 == 0) validate_all();
  }
  for (size_t i = 0; i < COUNT_OF(sizes); i++)
    if (sizes[i] <= lm_classed_max_bytes)
      CHECK_EQ(find_blocks(lm_sizeclass_of(sizes[i])).taken, count[i]);
}

static void of_a_full_list_the_half_that_was_freed_first_leaves(void) {
  struct lm_cache *cache = new_cache();
  take_many(cache, CLASS, 5000);
  size_t length = 0, i = 0;
  for (; lists_length(cache, CLASS) >= length; i++) {
    length = lists_length(cache, CLASS);
    cache_give(cache, blocks[i]);
  }
  CHECK_THAT(length, <=, 2u * cache->caps[CLASS]);
  CHECK_THAT(lists_length(cache, CLASS), >=, length / 4);
  CHECK_EQ(find_blocks(CLASS).taken, 5000 - i); /* in the depot, or at home */
  while (lists_length(cache, CLASS) > 0) CHECK_EQ(cache_take(cache, CLASS), blocks[--i]);
}

static void spans_are_asked_for_more_the_oftener_they_are_asked(void) {
  struct lm_cache *cache = new_cache();
  size_t first = 0, most = 0;
  for (size_t i = 0; i < 20000; i++) {
    bool asks = lists_length(cache, CLASS) == 0;
    cache_take(cache, CLASS);
    if (!asks) continue;
    if (i == 0) first = lists_length(cache, CLASS);
    most = lm_max(most, lists_length(cache, CLASS));
  }
  CHECK_THAT(most, >, 2 * first + 1);
  CHECK_THAT(most, <=, lm_list_blocks[CLASS]);
  lm_cache_validate(cache);
}

static void a_class_that_is_not_asked_for_has_no_part_of_the_share(void) {
  struct lm_cache *cache = new_cache();
  cache_give(cache, cache_take(cache, CLASS));
  CHECK_THAT(cache->granted_bytes, >, 0);
  for (int i = 0; i < 3; i++) {
    lm_cache_age(cache, LM_CACHE_AGE_MS);
    lm_cache_validate(cache);
  }
  CHECK_EQ(cache->granted_bytes, 0);
  CHECK_EQ(cache->tallies[CLASS], 0); /* it takes none beyond that */
}

/* Whatever the caps were when they became so long. */
static void lists_that_leave_are_no_longer_than_whole_ones(void) {
  struct lm_cache *cache = new_cache();
  for (int i = 0; i < 10; i++) {
    take_many(cache, LARGER_CLASS, 300);
    give_many(cache, 300);
    take_many(cache, LARGER_CLASS, 1);
    give_many(cache, 1);
    lm_cache_age(cache, LM_CACHE_AGE_MS);
    lm_cache_validate(cache);
    validate_all(); /* of depots */
  }
  take_many(cache, LARGER_CLASS, 300);
  give_many(cache, 300);
  lm_options.heap_cache_bytes = 0; /* and so have the caps */
  for (int i = 0; i < 10; i++) {
    take_many(cache, LARGER_CLASS, 300);
    give_many(cache, 300);
    lm_cache_validate(cache);
    validate_all();
  }
}

static void a_thread_that_only_frees_has_lists_too(void) {
  struct lm_cache *taker = new_cache(), *giver = new_cache();
  take_many(taker, CLASS, 10);
  give_many(giver, 10);
  CHECK_EQ(lists_length(giver, CLASS), 10);
  lm_cache_validate(giver);
  for (int i = 0; i < 10; i++) CHECK(lm_is_block(cache_take(giver, CLASS)));
  CHECK_EQ(find_blocks(CLASS).taken, 10);
}

static void middle_blocks_wait_in_lists_too(void) {
  struct lm_cache *cache = new_cache();
  size_t class_index = lm_middle_class(50000);
  void *block = cache_take(cache, class_index);
  cache_give(cache, block);
  CHECK_EQ(lists_length(cache, class_index), 1);
  CHECK_EQ(cache_take(cache, class_index), block);
}

/* The first frees of a thread are looked at closely, one by one, and lists are no longer for that. */
static void lists_keep_to_their_caps_while_frees_are_looked_at_closely(void) {
  enum { COUNT = LM_INSPECT_FREES - 10 };
  void *held[COUNT];
  stop_clock();
  for (size_t i = 0; i < COUNT; i++) CHECK((held[i] = lm_raw_malloc(8000)) != NULL);
  struct lm_cache *cache = lm_this_cache;
  CHECK_THAT(cache->close_looks, >=, COUNT);
  for (size_t i = 0; i < COUNT; i++) {
    lm_raw_free(held[i]);
    lm_cache_validate(cache);
  }
  CHECK_THAT(cache->close_looks, >, 0);
  CHECK_THAT(bytes_in(cache), <=, cache->granted_bytes);
}

/* ---- How much ---- */

static void all_caches_together_keep_no_more_than_the_option_says(void) {
  enum { CACHES = 8 };
  static const size_t sizes[] = {64, 256, 1024, 4096, 16384};
  struct lm_cache *caches[CACHES];
  lm_options.heap_cache_bytes = 4 * MIB;
  for (size_t i = 0; i < CACHES; i++) caches[i] = new_cache();
  for (int turn = 0; turn < 12; turn++) /* so that they would learn to keep more */
    for (size_t i = 0; i < CACHES; i++)
      for (size_t s = 0; s < COUNT_OF(sizes); s++) {
        size_t count = lm_min(2 * MIB / sizes[s], MANY);
        take_many(caches[i], lm_sizeclass_of(sizes[s]), count);
        give_many(caches[i], count);
      }
  size_t kept = 0, first = 0;
  for (size_t i = 0; i < CACHES; i++) {
    lm_cache_validate(caches[i]);
    kept += bytes_in(caches[i]);
  }
  /* Each may begin with lists of a few blocks in any case. */
  for (size_t s = 0; s < COUNT_OF(sizes); s++)
    first += bytes_of_cap(lm_sizeclass_of(sizes[s]), few_blocks(lm_sizeclass_of(sizes[s])));
  CHECK_THAT(kept, <=, lm_options.heap_cache_bytes + CACHES * first);
}

static void the_more_threads_there_are_the_shorter_are_their_lists(void) {
  lm_options.heap_cache_bytes = 2 * MIB;
  struct lm_cache *cache = new_cache();
  for (int i = 0; i < 10; i++) take_many(cache, LARGER_CLASS, 500), give_many(cache, 500);
  size_t alone = cache->caps[LARGER_CLASS];
  for (int i = 0; i < 200; i++) new_cache();
  for (int i = 0; i < 10; i++) take_many(cache, LARGER_CLASS, 500), give_many(cache, 500);
  CHECK_THAT(cache->caps[LARGER_CLASS], <, alone);
  lm_cache_validate(cache);
}

static void an_option_of_0_leaves_lists_of_a_few_blocks(void) {
  lm_options.heap_cache_bytes = 0;
  struct lm_cache *cache = new_cache();
  for (int i = 0; i < 10; i++) take_many(cache, LARGER_CLASS, 500), give_many(cache, 500);
  CHECK_THAT(bytes_in(cache), <=, bytes_of_cap(LARGER_CLASS, few_blocks(LARGER_CLASS)) + 32 * KIB);
}

/* ---- Memory that is freed in bulk ---- */

static void leave_next_to_nothing(size_t class_index, size_t count) {
  struct lm_cache *cache = new_cache();
  take_many(cache, class_index, count);
  size_t taken_bytes = count * lm_sizeclass_bytes(class_index);
  give_many(cache, count);
  CHECK_THAT(idle_bytes(class_index), <=, taken_bytes / 8);
  CHECK_EQ(find_blocks(class_index).taken, 0);
  lm_cache_validate(cache);
  validate_all();
}

static void bulk_frees_leave_next_to_nothing(void) {
  leave_next_to_nothing(lm_sizeclass_of(128), MANY);
}
static void of_larger_blocks_too(void) { leave_next_to_nothing(lm_sizeclass_of(1024), 5000); }
static void and_of_the_largest(void) { leave_next_to_nothing(lm_sizeclass_of(16384), 600); }

static void bulk_frees_take_along_what_lists_of_other_classes_have(void) {
  static const size_t sizes[] = {32, 200, 900, 3000};
  struct lm_cache *cache = new_cache();
  for (size_t i = 0; i < COUNT_OF(sizes); i++) {
    take_many(cache, lm_sizeclass_of(sizes[i]), 40);
    give_many(cache, 40);
  }
  size_t before = bytes_in(cache);
  take_many(cache, lm_sizeclass_of(500), MANY);
  give_many(cache, MANY);
  size_t after = 0;
  for (size_t i = 0; i < COUNT_OF(sizes); i++)
    after += lists_length(cache, lm_sizeclass_of(sizes[i])) * sizes[i];
  CHECK_THAT(before, >, 40000);
  CHECK_EQ(after, 0);
  validate_all();
}

static void a_bulk_is_over_when_malloc_asks_a_central(void) {
  struct lm_cache *cache = new_cache();
  take_many(cache, LARGER_CLASS, 5000);
  give_many(cache, 5000);
  CHECK(cache->homeward.limit != 0);
  take_many(cache, CLASS, 1);
  CHECK_EQ(cache->homeward.limit, 0);
}

/* However many classes have had their turn meanwhile: in bulk these pass by quickly. */
static void or_when_it_has_lasted_for_a_while(void) {
  struct lm_cache *cache = new_cache();
  take_many(cache, LARGER_CLASS, 5000);
  give_many(cache, 5000);
  for (uint64_t ms = 0; ms < LM_CACHE_AGE_MS; ms++) {
    CHECK(cache->homeward.limit != 0);
    cache->next_class = 0;
    lm_cache_age(cache, 1);
  }
  CHECK_EQ(cache->homeward.limit, 0);
}

static void a_program_that_takes_and_frees_the_same_again_finds_it_without_spans(void) {
  struct lm_cache *cache = new_cache();
  for (int i = 0; i < 20; i++) take_many(cache, LARGER_CLASS, 300), give_many(cache, 300);
  struct whereabouts where = find_blocks(LARGER_CLASS);
  CHECK_THAT(where.in_caches + where.in_depots, >=, 200);
}

/* ---- What one thread takes and another frees ---- */

static void blocks_that_another_thread_frees_are_found_again(void) {
  have_centrals(2);
  for (size_t size = 64; size <= 4096; size *= 8) {
    struct lm_cache *taker = new_cache(), *giver = new_cache();
    size_t class_index = lm_sizeclass_of(size), carved = 0;
    CHECK(taker->central != giver->central);
    for (int turn = 0; turn < 60; turn++) {
      take_many(taker, class_index, 400);
      give_many(giver, 400);
      if (turn == 20) carved = find_blocks(class_index).carved;
    }
    CHECK_THAT(find_blocks(class_index).carved, <=, carved + carved / 2);
    CHECK_EQ(find_blocks(class_index).taken, 0);
    lm_cache_validate(giver);
    lm_cache_validate(taker);
    validate_all();
  }
}

/* ---- Time ---- */

static void while_the_clock_stands_lists_stay(void) {
  struct lm_cache *cache = new_cache();
  take_many(cache, CLASS, 100);
  give_many(cache, 100);
  size_t count = lists_length(cache, CLASS);
  for (int i = 0; i < 1000; i++) lm_tick_event(cache);
  CHECK_EQ(lists_length(cache, CLASS), count);
}

static void all_lists_leave_within_the_time_of_one_round(void) {
  struct lm_cache *cache = new_cache();
  for (size_t i = 1; i < LM_BIN_COUNT; i++) {
    if (!lm_class_is_small(i) && lm_sizeclass_bytes(i) <= lm_classed_max_bytes) continue;
    void *block = cache_take(cache, i);
    if (block != NULL) cache_give(cache, block);
  }
  size_t before = bytes_in(cache);
  lm_cache_age(cache, LM_CACHE_AGE_MS / 10);
  CHECK_THAT(bytes_in(cache), <, before);
  CHECK_THAT(bytes_in(cache), >, 0);
  for (int i = 0; i < 10; i++) lm_cache_age(cache, LM_CACHE_AGE_MS / 10);
  CHECK_EQ(bytes_in(cache), 0);
  lm_cache_validate(cache);
  validate_all();
}

static void a_flush_sends_all_home_at_once(void) {
  struct lm_cache *cache = new_cache();
  take_many(cache, CLASS, 3000);
  give_many(cache, 3000);
  lm_cache_flush(cache);
  CHECK_EQ(bytes_in(cache), 0);
  CHECK_EQ(find_blocks(CLASS).taken, 0);
  lm_cache_validate(cache);
  end_all_free_memory();
  CHECK_EQ(slices_in_use(), 0);
}

/* ---- Threads ---- */

static void a_threads_end_leaves_nothing_in_its_cache_and_no_block_is_lost(void) {
  static const size_t sizes[] = {16, 64, 300, 2000, 10000, 100000};
  struct lm_cache *cache = new_cache();
  for (size_t i = 0; i < COUNT_OF(sizes); i++) {
    size_t class_index = sizes[i] <= lm_classed_max_bytes ? lm_sizeclass_of(sizes[i])
                                                          : lm_middle_class(sizes[i]);
    take_many(cache, class_index, 200);
    give_many(cache, 150);
  }
  lm_cache_end(cache);
  CHECK_EQ(bytes_in(cache), 0);
  CHECK_EQ(cache->granted_bytes, 0);
  CHECK_EQ(lm_pool_thread_count, 0);
  for (size_t i = 0; i + 1 < COUNT_OF(sizes); i++)
    CHECK_EQ(find_blocks(lm_sizeclass_of(sizes[i])).taken, 50);
  validate_all();
}

static void the_next_thread_has_the_cache_of_one_that_has_ended(void) {
  struct lm_cache *first = new_cache();
  lm_cache_end(first);
  CHECK_EQ(new_cache(), first);
  struct lm_cache *second = new_cache();
  CHECK(second != first);
  CHECK_EQ(lm_pool_thread_count, 2);
}

static void neighbours_ask_different_centrals(void) {
  have_centrals(4);
  struct lm_cache *caches[8];
  for (size_t i = 0; i < 8; i++) caches[i] = new_cache();
  for (size_t i = 0; i < 8; i++) {
    CHECK_EQ(caches[i]->central->index, caches[(i + 4) % 8]->central->index);
    CHECK(caches[i]->central != caches[(i + 1) % 8]->central);
  }
}

static void in_the_child_of_a_fork_there_is_one_thread_or_none(void) {
  struct lm_cache *cache = new_cache();
  new_cache(), new_cache();
  lm_cache_after_fork(cache);
  CHECK_EQ(lm_pool_thread_count, 1);
  lm_cache_after_fork(&lm_empty_cache);
  CHECK_EQ(lm_pool_thread_count, 0);
}

static void *work_and_end(void *unused) {
  void *held[500];
  for (size_t i = 0; i < 500; i++) held[i] = lm_raw_malloc(16 + i * 7);
  for (size_t i = 0; i < 500; i++) lm_raw_free(held[i]);
  return unused;
}

static void threads_that_come_and_go_leave_no_memory_and_share_caches(void) {
  for (int i = 0; i < 50; i++) run_in_thread(work_and_end, NULL);
  CHECK_THAT(lm_cache_made_count, <=, 2);
  CHECK_EQ(lm_pool_thread_count, 0);
  end_all_free_memory();
  CHECK_EQ(slices_in_use(), 0);
}

static void *free_all(void *unused) {
  for (size_t i = 0; i < 2000; i++) lm_raw_free(blocks[i]);
  return unused;
}

/* It has no list by then, or never had any. */
static void a_thread_that_frees_after_its_cache_has_ended_loses_nothing(void) {
  for (size_t i = 0; i < 2000; i++) blocks[i] = lm_raw_malloc(40 + i % 3 * 300);
  end_thread(lm_this_cache);
  free_all(NULL);
  void *late = lm_raw_malloc(300);
  CHECK(late != NULL && lm_cache_is_empty(lm_this_cache));
  lm_raw_free(late);
  validate_all();
  end_all_free_memory();
  CHECK_EQ(slices_in_use(), 0);
}

/* Another central's depot has a list, of which such a thread wants one block. */
static void a_thread_without_a_cache_takes_one_block_of_a_list_and_the_others_are_not_lost(void) {
  have_centrals(2);
  CHECK(lm_depot_give(central_at(1), LARGER_CLASS, take_whole_list(central_at(1), LARGER_CLASS),
                      lm_list_blocks[LARGER_CLASS]) != LM_LIST_REFUSED);
  lm_raw_free(lm_raw_malloc(1));
  end_thread(lm_this_cache);
  void *block = lm_raw_malloc(1024);
  CHECK_EQ(find_blocks(LARGER_CLASS).taken, 1);
  lm_raw_free(block);
  CHECK_EQ(find_blocks(LARGER_CLASS).taken, 0);
}

/* ---- Out of memory ---- */

static void without_memory_there_is_no_cache_and_later_there_is(void) {
  stop_clock();
  for (long fault = 0;; fault++) {
    CHECK_THAT(fault, <, 10);
    lm_fault_countdown = fault;
    struct lm_cache *cache = lm_cache_begin();
    CHECK_EQ(lm_pool_thread_count, cache != NULL ? 1 : 0);
    if (cache != NULL) break;
  }
  lm_fault_countdown = -1;
}

/* Any block but the one that is refused, with each system call on the way failing once. */
static void refill_in_spite_of_faults(void) {
  static const size_t sizes[] = {16, 100, 1024, 5000, 16384};
  struct lm_cache *cache = new_cache();
  size_t refused = 0;
  for (size_t i = 0; i < COUNT_OF(sizes); i++) {
    size_t class_index = lm_sizeclass_of(sizes[i]), held = 0;
    for (long fault = 0; fault < 12; fault++) {
      lm_fault_countdown = fault;
      for (size_t k = 0; k < 200; k++) {
        void *block = cache_take(cache, class_index);
        if (block == NULL) refused++;
        else memset(blocks[held++] = block, 1, sizes[i]);
      }
      lm_fault_countdown = -1;
      lm_cache_validate(cache);
      validate_all();
    }
    CHECK_EQ(find_blocks(class_index).taken, held);
    give_many(cache, held);
    CHECK_EQ(find_blocks(class_index).taken, 0);
  }
  CHECK_THAT(refused, <=, 12 * COUNT_OF(sizes));
  lm_cache_end(cache);
  end_all_free_memory();
  CHECK_EQ(slices_in_use(), 0);
}

static void a_refill_that_fails_leaves_everything_whole(void) { refill_in_spite_of_faults(); }

static void without_overcommit_too(void) {
  lm_os.overcommit = false;
  refill_in_spite_of_faults();
}

static void and_where_a_purge_decommits(void) {
  lm_os.overcommit = false;
  lm_os.purge_decommits = true;
  refill_in_spite_of_faults();
}

/* ---- Several threads ---- */

enum { THREADS = 4, PLACES = 256, TURNS = 40000 };
static _Atomic(void *) places[PLACES];
static const size_t exchanged_sizes[] = {16, 64, 256, 1000, 4000, 16000, 60000};

/* Frees what anybody has taken, and ends its thread in between. */
static void *exchange(void *argument) {
  uint64_t random = (uintptr_t)argument;
  for (int turn = 0; turn < TURNS; turn++) {
    size_t size = exchanged_sizes[random_next(&random) % COUNT_OF(exchanged_sizes)];
    unsigned char *block = lm_raw_malloc(size);
    CHECK(block != NULL);
    block[0] = block[size - 1] = (unsigned char)(size >> 4);
    block = atomic_exchange(&places[random_next(&random) % PLACES], block);
    if (block == NULL) continue;
    CHECK_EQ(block[0], block[0]);
    lm_raw_free(block);
    if (turn % 2000 == 0) lm_cache_validate(lm_this_cache);
    if (turn % 5000 == 0) lm_tick_trim(0);
  }
  return NULL;
}

static void blocks_go_from_thread_to_thread_and_none_is_lost(void) {
  pthread_t threads[THREADS];
  have_centrals(3);
  for (int round = 0; round < 2; round++) {
    for (size_t i = 0; i < THREADS; i++) threads[i] = start_thread(exchange, (void *)(i + 1));
    for (size_t i = 0; i < THREADS; i++) join_thread(threads[i]);
  }
  size_t left[COUNT_OF(exchanged_sizes)] = {0};
  for (size_t i = 0; i < PLACES; i++) {
    if (places[i] == NULL) continue;
    size_t bytes = lm_raw_usable_bytes(places[i]);
    for (size_t s = 0; s < COUNT_OF(exchanged_sizes); s++)
      left[s] += bytes == lm_sizeclass_bytes(lm_sizeclass_of(exchanged_sizes[s]));
  }
  validate_all();
  for (size_t s = 0; s < COUNT_OF(exchanged_sizes); s++)
    if (exchanged_sizes[s] <= lm_classed_max_bytes)
      CHECK_EQ(find_blocks(lm_sizeclass_of(exchanged_sizes[s])).taken, left[s]);
  for (size_t i = 0; i < PLACES; i++) lm_raw_free(places[i]);
  lm_cache_flush(lm_this_cache);
  end_all_free_memory();
  CHECK_EQ(slices_in_use(), 0);
}

int main(void) {
  RUN(what_was_freed_last_is_taken_first);
  RUN(lists_are_no_longer_than_they_may_be_whatever_a_program_does);
  RUN(of_a_full_list_the_half_that_was_freed_first_leaves);
  RUN(spans_are_asked_for_more_the_oftener_they_are_asked);
  RUN(a_class_that_is_not_asked_for_has_no_part_of_the_share);
  RUN(lists_that_leave_are_no_longer_than_whole_ones);
  RUN(a_thread_that_only_frees_has_lists_too);
  RUN(middle_blocks_wait_in_lists_too);
  RUN(lists_keep_to_their_caps_while_frees_are_looked_at_closely);
  RUN(all_caches_together_keep_no_more_than_the_option_says);
  RUN(the_more_threads_there_are_the_shorter_are_their_lists);
  RUN(an_option_of_0_leaves_lists_of_a_few_blocks);
  RUN(bulk_frees_leave_next_to_nothing);
  RUN(of_larger_blocks_too);
  RUN(and_of_the_largest);
  RUN(bulk_frees_take_along_what_lists_of_other_classes_have);
  RUN(a_bulk_is_over_when_malloc_asks_a_central);
  RUN(or_when_it_has_lasted_for_a_while);
  RUN(a_program_that_takes_and_frees_the_same_again_finds_it_without_spans);
  RUN(blocks_that_another_thread_frees_are_found_again);
  RUN(while_the_clock_stands_lists_stay);
  RUN(all_lists_leave_within_the_time_of_one_round);
  RUN(a_flush_sends_all_home_at_once);
  RUN(a_threads_end_leaves_nothing_in_its_cache_and_no_block_is_lost);
  RUN(the_next_thread_has_the_cache_of_one_that_has_ended);
  RUN(neighbours_ask_different_centrals);
  RUN(in_the_child_of_a_fork_there_is_one_thread_or_none);
  RUN(threads_that_come_and_go_leave_no_memory_and_share_caches);
  RUN(a_thread_that_frees_after_its_cache_has_ended_loses_nothing);
  RUN(a_thread_without_a_cache_takes_one_block_of_a_list_and_the_others_are_not_lost);
  RUN(without_memory_there_is_no_cache_and_later_there_is);
  RUN(a_refill_that_fails_leaves_everything_whole);
  RUN(without_overcommit_too);
  RUN(and_where_a_purge_decommits);
  RUN(blocks_go_from_thread_to_thread_and_none_is_lost);
  return UNIT_RESULT();
}
