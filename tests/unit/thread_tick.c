// tsan: yes
/* The clock: who looks at it, what is done as time passes, and what on demand. */
#include "unit.h"

#define CLASS lm_sizeclass_of(1024)

enum { COUNT = 4096 }; /* 4 MiB */
static void *blocks[COUNT];

static void take_4_mib(struct lm_cache *cache) {
  for (size_t i = 0; i < COUNT; i++) blocks[i] = memset(cache_take(cache, CLASS), 1, 1024);
}
static void give_4_mib_but(struct lm_cache *cache, size_t keep_each) {
  for (size_t i = 0; i < COUNT; i++)
    if (keep_each == 0 || i % keep_each != 0) cache_give(cache, blocks[i]);
}

static size_t slices_in_use(void) {
  size_t count = 0;
  for (unsigned i = 0; i < lm_pool_count; i++) count += lm_pools[i].span_slice_count;
  return count;
}
static size_t dirty_page_count(void) {
  size_t count = 0;
  for (unsigned i = 0; i < lm_pool_count; i++)
    count += lm_load_relaxed(&lm_pools[i].dirty_page_count);
  return count;
}
static uint64_t purge_count(void) {
  uint64_t count = 0;
  for (unsigned i = 0; i < lm_pool_count; i++) count += lm_pools[i].purge_count;
  return count;
}

/* So much time, in which the thread's slow paths look at the clock now and then. */
static void pass_with_ticks(struct lm_cache *cache, uint64_t ms) {
  for (uint64_t passed = 0; passed < ms; passed += 10) {
    pass_ms(10);
    lm_tick(cache);
  }
  validate_all();
}

/* ---- Who looks ---- */

static void one_slow_path_in_some_looks_at_the_clock(void) {
  struct lm_cache *cache = new_cache();
  uint64_t seen_ms = cache->clock.seen_ms;
  pass_ms(5);
  int events = 0;
  for (; cache->clock.seen_ms == seen_ms; events++) lm_tick_event(cache);
  CHECK_EQ(cache->clock.seen_ms, seen_ms + 5);
  CHECK_THAT(events, >, 0);
  CHECK_THAT(events, <=, 64);
}

/* The calling thread's. */
static struct lm_cache *this_threads_cache(void) {
  loam_free(loam_malloc(1));
  stop_clock();
  lm_this_cache->close_looks = 0;
  return lm_this_cache;
}

static void a_thread_whose_calls_all_take_fast_paths_looks_now_and_then(void) {
  struct lm_cache *cache = this_threads_cache();
  for (size_t i = 0; i < 3000; i++) blocks[i] = loam_malloc(1024); /* is worth it */
  pass_ms(1);
  lm_tick(cache);
  uint64_t seen_ms = cache->clock.seen_ms;
  int calls = 0;
  pass_ms(1);
  for (; cache->clock.seen_ms == seen_ms && calls < 100; calls++) loam_free(loam_malloc(1024));
  CHECK_THAT(calls, <, 100);
}

static void a_process_that_holds_next_to_nothing_is_left_alone(void) {
  struct lm_cache *cache = this_threads_cache();
  cache->clock.looks_left = 100;
  lm_tick(cache);
  while (lm_load_relaxed(&underway)) lm_tick(cache);
  lm_malloc_cache = cache;
  lm_tick(cache);
  CHECK_EQ(lm_malloc_cache, cache);
}

static void looks_cost_no_more_than_some_in_a_millisecond(void) {
  struct lm_cache *cache = this_threads_cache();
  for (size_t i = 0; i < 3000; i++) blocks[i] = loam_malloc(1024);
  lm_tick(cache);
  while (lm_load_relaxed(&underway)) pass_ms(1), lm_tick(cache);
  size_t slow = 0;
  for (int i = 0; i < 100000; i++) {
    slow += lm_malloc_cache != cache;
    loam_free(loam_malloc(1024));
  }
  CHECK_THAT(slow, <, 10000); /* the clock stands */
}

/* ---- As time passes ---- */

static void while_the_clock_stands_nothing_goes_back(void) {
  struct lm_cache *cache = new_cache();
  take_4_mib(cache);
  give_4_mib_but(cache, 8);
  size_t slices = slices_in_use();
  lm_tick(cache);
  while (lm_load_relaxed(&underway)) lm_tick(cache);
  for (int i = 0; i < 1000; i++) lm_tick(cache);
  CHECK_EQ(slices_in_use(), slices);
}

static void free_memory_goes_back_to_the_system_as_time_passes(void) {
  struct lm_cache *cache = new_cache();
  take_4_mib(cache);
  give_4_mib_but(cache, 0);
  pass_with_ticks(cache, 10 * lm_options.purge_delay_ms);
  CHECK_EQ(find_blocks(CLASS).carved, 0);
  CHECK_EQ(slices_in_use(), 0);
  CHECK_EQ(dirty_page_count(), 0);
}

static void pages_between_blocks_go_back_too(void) {
  if (!SLICES_HAVE_PAGES) return;
  struct lm_cache *cache = new_cache();
  take_4_mib(cache);
  give_4_mib_but(cache, 40);
  pass_with_ticks(cache, 10 * lm_options.purge_delay_ms);
  struct whereabouts where = find_blocks(CLASS);
  CHECK_THAT(where.in_holes, >, COUNT / 2);
  CHECK_EQ(where.taken, (COUNT + 39) / 40);
  CHECK_EQ(dirty_page_count(), 0);
}

static void it_goes_back_also_of_a_central_that_no_thread_asks(void) {
  have_centrals(4);
  struct lm_cache *cache = new_cache(), *other = new_cache();
  CHECK(cache->central != other->central);
  take_4_mib(other);
  give_4_mib_but(other, 0);
  lm_cache_end(other);
  pass_with_ticks(cache, 10 * lm_options.purge_delay_ms);
  CHECK_EQ(slices_in_use(), 0);
  CHECK_EQ(dirty_page_count(), 0);
}

static void what_is_in_use_stays(void) {
  struct lm_cache *cache = new_cache();
  take_4_mib(cache);
  pass_with_ticks(cache, 10 * lm_options.purge_delay_ms);
  CHECK_EQ(find_blocks(CLASS).taken, COUNT);
  for (size_t i = 0; i < COUNT; i++) CHECK_EQ(*((unsigned char *)blocks[i] + 1000), 1);
}

static void without_a_purge_delay_nothing_goes_back_by_itself(void) {
  lm_options.purge_delay_ms = 0;
  struct lm_cache *cache = new_cache();
  take_4_mib(cache);
  give_4_mib_but(cache, 40);
  pass_with_ticks(cache, 10000);
  CHECK_EQ(purge_count(), 0);
  CHECK_EQ(find_blocks(CLASS).in_holes, 0);
}

static void a_round_goes_on_with_each_call_until_it_is_over(void) {
  struct lm_cache *cache = new_cache();
  have_centrals(LM_CENTRAL_MAX);
  for (uint32_t i = 0; i < LM_CENTRAL_MAX; i++) central_at(i);
  pass_ms(10 * lm_options.purge_delay_ms);
  size_t calls = 0;
  do {
    lm_tick(cache);
    pass_ms(1);
    CHECK_THAT(++calls, <, 100000);
  } while (lm_load_relaxed(&underway));
  CHECK_THAT(calls, >, 1);
}

static void a_round_through_many_idle_centrals_makes_none(void) {
  struct lm_cache *cache = new_cache();
  have_centrals(64);
  pass_with_ticks(cache, 4 * lm_options.purge_delay_ms);
  size_t made = 0;
  for (uint32_t i = 0; i < 64; i++) made += lm_central_if_made(i) != NULL;
  CHECK_EQ(made, 1);
}

static void who_has_not_the_turn_does_not_wait_for_it(void) {
  struct lm_cache *cache = new_cache();
  lm_store_relaxed(&lm_tick_lock.state, 1); /* as if another thread had it */
  pass_with_ticks(cache, 10 * lm_options.purge_delay_ms);
  lm_store_relaxed(&lm_tick_lock.state, 0);
}

static void the_background_thread_does_all_that_is_due(void) {
  struct lm_cache *cache = new_cache();
  take_4_mib(cache);
  give_4_mib_but(cache, 0);
  lm_cache_end(cache);
  for (int i = 0; i < 40; i++) {
    pass_ms(lm_tick_interval_ms());
    lm_tick_background();
  }
  CHECK_EQ(slices_in_use(), 0);
  CHECK_EQ(dirty_page_count(), 0);
}

/* ---- On demand ---- */

static void a_trim_gives_all_back_at_once(void) {
  struct lm_cache *cache = new_cache();
  take_4_mib(cache);
  give_4_mib_but(cache, 0);
  lm_cache_flush(cache);
  lm_tick_trim(0);
  validate_all();
  CHECK_EQ(slices_in_use(), 0);
  CHECK_EQ(dirty_page_count(), 0);
  CHECK(!lm_tick_trim(0));
}

static void a_trim_keeps_as_much_in_pools_as_it_is_told(void) {
  lm_options.purge_delay_ms = 0;
  struct lm_cache *cache = new_cache();
  take_4_mib(cache);
  give_4_mib_but(cache, 0);
  lm_cache_flush(cache);
  lm_tick_trim(SIZE_MAX);
  CHECK_EQ(slices_in_use(), 0);
  CHECK_THAT(dirty_page_count(), >=, COUNT * 1024 / PAGE);
  lm_tick_trim(MIB);
  CHECK_THAT(dirty_page_count(), <=, lm_pool_count * MIB / PAGE);
}

/* A list in one central's depot has blocks of another's spans. */
static void a_trim_leaves_no_empty_span_wherever_its_blocks_are(void) {
  have_centrals(2);
  struct lm_block *list = take_whole_list(central_at(0), CLASS);
  CHECK(lm_depot_give(central_at(1), CLASS, list, lm_list_blocks[CLASS]) != LM_LIST_REFUSED);
  lm_tick_trim(0);
  CHECK_EQ(slices_in_use(), 0);
}

static void a_trim_makes_holes_of_what_is_between_blocks(void) {
  if (!SLICES_HAVE_PAGES) return;
  struct lm_cache *cache = new_cache();
  take_4_mib(cache);
  give_4_mib_but(cache, 40);
  lm_cache_flush(cache);
  CHECK(lm_tick_trim(0));
  validate_all();
  CHECK_THAT(find_blocks(CLASS).in_holes, >, COUNT / 2);
}

/* ---- Forks ---- */

static void run_in_fork(void (*function)(struct lm_cache *cache), struct lm_cache *cache) {
  pid_t child = fork();
  if (child == 0) {
    function(cache);
    _exit(0);
  }
  int status;
  CHECK_EQ(waitpid(child, &status, 0), child);
  CHECK_EQ(status, 0);
}

static void make_no_holes(struct lm_cache *cache) {
  pass_with_ticks(cache, 10 * lm_options.purge_delay_ms);
  CHECK_EQ(find_blocks(CLASS).in_holes, 0);
}

/* An emulator takes the advice to clear a page in a child, and does not follow it. */
static bool knows_copies(void) {
  uint32_t number = lm_os_copy_number();
  pid_t child = fork();
  if (child == 0) _exit(lm_os_copy_number() == number ? 1 : 0);
  int status;
  CHECK_EQ(waitpid(child, &status, 0), child);
  bool knows = status == 0;
  CHECK(knows || getenv("LOAM_TEST_EMULATOR") != NULL);
  return knows;
}

static void a_child_makes_no_holes_of_what_it_shares_with_its_parent(void) {
  if (!knows_copies()) return;
  struct lm_cache *cache = new_cache();
  lm_cache_flush(cache);
  pass_with_ticks(cache, 2 * lm_options.purge_delay_ms); /* so that there has been a round */
  take_4_mib(cache);
  give_4_mib_but(cache, 40);
  lm_cache_flush(cache);
  run_in_fork(make_no_holes, cache);
}

/* ---- Several threads ---- */

static _Atomic bool stopped;
static void *tick_again_and_again(void *unused) {
  struct lm_cache *cache = lm_cache_begin();
  while (!stopped) lm_tick(cache);
  lm_cache_end(cache);
  return unused;
}

static void *work(void *argument) {
  struct lm_cache *cache = lm_cache_begin();
  uint64_t random = (uintptr_t)argument;
  void *held[200] = {NULL};
  for (int turn = 0; turn < 30000; turn++) {
    void **place = &held[random_next(&random) % COUNT_OF(held)];
    if (*place != NULL) cache_give(cache, *place);
    *place = cache_take(cache, lm_sizeclass_of(16 + random_next(&random) % 3000));
    if (turn % 20 == 0) pass_ms(3);
    if (turn % 3000 == 0) lm_tick_trim(0);
  }
  for (size_t i = 0; i < COUNT_OF(held); i++)
    if (held[i] != NULL) cache_give(cache, held[i]);
  lm_cache_end(cache);
  return NULL;
}

static void time_passes_while_threads_work(void) {
  have_centrals(2);
  stop_clock();
  lm_options.purge_delay_ms = 40;
  pthread_t clocks[] = {start_thread(tick_again_and_again, NULL),
                        start_thread(tick_again_and_again, NULL)};
  pthread_t workers[] = {start_thread(work, (void *)1), start_thread(work, (void *)2)};
  for (size_t i = 0; i < COUNT_OF(workers); i++) join_thread(workers[i]);
  stopped = true;
  for (size_t i = 0; i < COUNT_OF(clocks); i++) join_thread(clocks[i]);
  lm_tick_trim(0);
  validate_all();
  CHECK_EQ(slices_in_use(), 0);
}

int main(void) {
  RUN(one_slow_path_in_some_looks_at_the_clock);
  RUN(a_thread_whose_calls_all_take_fast_paths_looks_now_and_then);
  RUN(a_process_that_holds_next_to_nothing_is_left_alone);
  RUN(looks_cost_no_more_than_some_in_a_millisecond);
  RUN(while_the_clock_stands_nothing_goes_back);
  RUN(free_memory_goes_back_to_the_system_as_time_passes);
  RUN(pages_between_blocks_go_back_too);
  RUN(it_goes_back_also_of_a_central_that_no_thread_asks);
  RUN(what_is_in_use_stays);
  RUN(without_a_purge_delay_nothing_goes_back_by_itself);
  RUN(a_round_goes_on_with_each_call_until_it_is_over);
  RUN(a_round_through_many_idle_centrals_makes_none);
  RUN(who_has_not_the_turn_does_not_wait_for_it);
  RUN(the_background_thread_does_all_that_is_due);
  RUN(a_trim_gives_all_back_at_once);
  RUN(a_trim_keeps_as_much_in_pools_as_it_is_told);
  RUN(a_trim_leaves_no_empty_span_wherever_its_blocks_are);
  RUN(a_trim_makes_holes_of_what_is_between_blocks);
  RUN(a_child_makes_no_holes_of_what_it_shares_with_its_parent);
  RUN(time_passes_while_threads_work);
  return UNIT_RESULT();
}
