// tsan: yes
// cost: 20
/* Visits: what a sleeping thread's heap keeps goes back by other threads' ticks; its thread finds
 * the heap whole, whenever it wakes. */
#include "unit.h"

#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>

enum { BLOCKS = 40000, BYTES = 1024, KEPT_OF = 16 };
static void *blocks[BLOCKS];
static struct lm_heap *sleeper;
static _Atomic(uint32_t) turn; /* 0: the thread works; n: it sleeps until somebody says n + 1 */

static void sleep_until_turn(uint32_t next) {
  lm_store_release(&turn, next - 1);
  while (lm_load_acquire(&turn) != next) sleep_ms(1);
}
static void wait_for_turn(uint32_t n) {
  while (lm_load_acquire(&turn) != n) sleep_ms(1);
}

static void take_all(void) {
  for (size_t i = 0; i < BLOCKS; i++)
    if (blocks[i] == NULL) memset(blocks[i] = lm_raw_malloc(BYTES), (int)(i % 251), BYTES);
}
static void free_most(void) {
  for (size_t i = 0; i < BLOCKS; i++) {
    if (i % KEPT_OF == 0) continue;
    lm_raw_free(blocks[i]);
    blocks[i] = NULL;
  }
}
static void check_kept(void) {
  for (size_t i = 0; i < BLOCKS; i += KEPT_OF)
    for (size_t k = 0; k < BYTES; k += 100) CHECK_EQ(((unsigned char *)blocks[i])[k], i % 251);
}

/* Gives nothing back meanwhile, however long it takes. */
static void leave_survivors(void) {
  size_t delay_ms = lm_options.purge_delay_ms;
  lm_options.purge_delay_ms = 3600000;
  take_all();
  free_most();
  lm_options.purge_delay_ms = delay_ms;
}

static void *free_and_sleep(void *unused) {
  leave_survivors();
  sleeper = lm_this_heap;
  sleep_until_turn(2);
  take_all();
  lm_heap_validate(sleeper);
  free_most();
  CHECK_EQ(sleeper->visits.parked, LM_NOT_PARKED);
  check_kept();
  return unused;
}

/* As a clock that goes on by so much would have it. */
static void let_time_pass(uint64_t ms) {
  lm_store_relaxed(&sleeper->ticked_ms, lm_load_relaxed(&sleeper->ticked_ms) - ms);
  sleeper->tick.last_ms -= ms;
  sleeper->visits.visited_ms -= ms;
  round_ms -= ms;
}

static size_t holes_of(const struct lm_heap *heap) {
  size_t pages = 0;
  for (size_t i = 1; i < LM_CLASS_COUNT; i++)
    for (struct lm_span *span = heap->usable[i].first; span != NULL; span = span->next)
      pages += (size_t)lm_bit_count(span->hole_pages);
  return pages;
}

static void visit_for_rounds(int count) {
  for (; count > 0; count--) {
    let_time_pass(3000);
    uint64_t now_ms = lm_os_clock_ms();
    size_t effort;
    for (int step = 0; step < 10000 && lm_visit_some(now_ms + (uint64_t)step, &effort); step++) {}
  }
}

static void a_sleeping_thread_s_holes_are_made_by_others(void) {
  if (!lm_os_order_all() || lm_os.purge_decommits || !BLOCKS_LEAVE_PAGES) return;
  pthread_t thread = start_thread(free_and_sleep, NULL);
  wait_for_turn(1);
  CHECK_EQ(holes_of(sleeper), 0);
  visit_for_rounds(4);
  CHECK_EQ(sleeper->visits.parked, LM_PARKED);
  CHECK_THAT(holes_of(sleeper) * PAGE, >, BLOCKS * BYTES / 2);
  lm_heap_validate(sleeper);
  lm_store_release(&turn, 2);
  join_thread(thread);
}

static void trim_reaches_sleeping_threads_at_once(void) {
  if (!lm_os_order_all() || lm_os.purge_decommits || !BLOCKS_LEAVE_PAGES) return;
  pthread_t thread = start_thread(free_and_sleep, NULL);
  wait_for_turn(1);
  CHECK(lm_visit_all_to_trim());
  CHECK_THAT(holes_of(sleeper) * PAGE, >, BLOCKS * BYTES / 2);
  CHECK_EQ(sleeper->spares.count, 0);
  lm_heap_validate(sleeper);
  lm_store_release(&turn, 2);
  join_thread(thread);
}

static void trim_puts_back_what_heaps_have_of_each_other(void) {
  if (!lm_os_order_all()) return;
  struct lm_heap *first = new_heap(), *second = new_heap();
  void *of_first = lm_middle_take(first, 1, false), *of_second = lm_middle_take(second, 1, false);
  second->middle.guests_left = first->middle.guests_left = 1;
  CHECK(lm_middle_keep_guest(second, of_first));
  CHECK(lm_middle_keep_guest(first, of_second));
  lm_visit_all_to_trim();
  CHECK_EQ(first->middle.used_count, 0);
  CHECK_EQ(second->middle.used_count, 0);
  lm_heap_validate(first);
  lm_heap_validate(second);
}

static void a_thread_that_is_in_a_slow_path_is_not_visited(void) {
  pthread_t thread = start_thread(free_and_sleep, NULL);
  wait_for_turn(1);
  lm_store_relaxed(&sleeper->visits.entered, 1);
  visit_for_rounds(3);
  CHECK(!lm_visit_all_to_trim());
  CHECK_EQ(sleeper->visits.parked, LM_NOT_PARKED);
  CHECK_EQ(holes_of(sleeper), 0);
  lm_store_relaxed(&sleeper->visits.entered, 0);
  lm_store_release(&turn, 2);
  join_thread(thread);
}

static void messages_to_a_sleeping_thread_are_taken(void) {
  if (!lm_os_order_all()) return;
  pthread_t thread = start_thread(free_and_sleep, NULL);
  wait_for_turn(1);
  struct lm_heap *mine = lm_heap_begin();
  size_t used_before = lm_heap_validate(sleeper);
  for (size_t i = 0; i < BLOCKS; i += KEPT_OF) {
    heap_give(mine, blocks[i]);
    blocks[i] = NULL;
  }
  lm_remote_flush(mine);
  CHECK(lm_load_relaxed(&sleeper->inbox) != NULL);
  visit_for_rounds(4);
  CHECK(lm_load_relaxed(&sleeper->inbox) == NULL);
  CHECK_THAT(lm_heap_validate(sleeper), <=, used_before - BLOCKS / KEPT_OF);
  lm_store_release(&turn, 2);
  join_thread(thread);
}

enum { SPAN_BLOCKS = LM_SLICE_BYTES / BYTES };

/* How many of the messages to a heap without a thread a visit takes. */
static size_t messages_taken_by(size_t step_count, size_t *taken) {
  enum { MESSAGES = 2000 };
  struct lm_heap *owner = new_heap(), *sender = new_heap();
  for (size_t i = 0; i < MESSAGES; i++) blocks[i] = heap_take(owner, 60);
  for (size_t i = 0; i < MESSAGES; i++) {
    heap_give(sender, blocks[i]);
    lm_remote_flush(sender);
    blocks[i] = NULL;
  }
  owner->visits.underway = true;
  lm_visits_round.step_count = step_count;
  lm_heap_visit(owner, lm_os_clock_ms());
  owner->visits.underway = false;
  *taken = lm_visits_round.step_count;
  lm_visits_round.step_count = 1;
  size_t left = 0;
  for (struct lm_message *m = owner->received; m != NULL; m = message_next(m)) left++;
  return MESSAGES - left;
}

static void a_visit_takes_some_steps_as_one_if_there_is_as_much_to_do(void) {
  size_t taken;
  CHECK_EQ(messages_taken_by(1, &taken), PARTS_PER_STEP * MESSAGES_PER_STEP);
  CHECK_EQ(taken, 1);
  CHECK_THAT(messages_taken_by(STEPS_PER_CALL, &taken), >=, 4 * PARTS_PER_STEP * MESSAGES_PER_STEP);
  CHECK_THAT(taken, >=, 3);
  CHECK_THAT(taken, <=, STEPS_PER_CALL);
  lm_visits_round.step_count = STEPS_PER_CALL;
  lm_heap_visit(new_heap(), lm_os_clock_ms());
  CHECK_EQ(lm_visits_round.step_count, 1);
}

static void *take_a_span_and_sleep(void *unused) {
  for (size_t i = 0; i < SPAN_BLOCKS; i++) CHECK((blocks[i] = lm_raw_malloc(BYTES)) != NULL);
  sleeper = lm_this_heap;
  CHECK(sleeper->current[lm_sizeclass_of(BYTES)] != NULL);
  sleep_until_turn(2);
  for (size_t i = 1; i < SPAN_BLOCKS; i++) memset(blocks[i] = lm_raw_malloc(BYTES), 1, BYTES);
  lm_heap_validate(sleeper);
  return unused;
}

static void holes_are_made_in_current_spans_too(void) {
  if (!lm_os_order_all() || lm_os.purge_decommits || !BLOCKS_LEAVE_PAGES) return;
  pthread_t thread = start_thread(take_a_span_and_sleep, NULL);
  wait_for_turn(1);
  struct lm_heap *mine = lm_heap_begin();
  for (size_t i = 1; i < SPAN_BLOCKS; i++)
    lm_remote_free(mine, blocks[i], lm_sizeclass_of(BYTES));
  lm_remote_flush(mine);
  visit_for_rounds(4);
  CHECK_THAT(holes_of(sleeper) * PAGE, >, SPAN_BLOCKS * BYTES / 2);
  lm_heap_validate(sleeper);
  lm_store_release(&turn, 2);
  join_thread(thread);
}

enum { COLLECTED = 100 }; /* of a kilobyte, fewer than are sent without a visit */
static struct lm_block *others[COLLECTED];

static void *free_others_and_sleep(void *unused) {
  lm_raw_free(lm_raw_malloc(1));
  sleeper = LM_THREAD(lm_this_heap);
  for (size_t i = 0; i < COLLECTED; i++) lm_raw_free(others[i]);
  CHECK_THAT(sleeper->outbox.weight, >=, COLLECTED * BYTES);
  sleep_until_turn(2);
  CHECK_EQ(sleeper->outbox.weight, 0);
  lm_raw_free(lm_raw_malloc(BYTES));
  return unused;
}

static void what_a_sleeping_thread_has_freed_of_others_is_sent(void) {
  if (!lm_os_order_all()) return;
  struct lm_heap *mine = lm_heap_begin();
  for (size_t i = 0; i < COLLECTED; i++) others[i] = heap_take(mine, lm_sizeclass_of(BYTES));
  size_t used = lm_heap_validate(mine);
  pthread_t thread = start_thread(free_others_and_sleep, NULL);
  wait_for_turn(1);
  visit_for_rounds(4);
  CHECK_EQ(sleeper->visits.parked, LM_PARKED);
  lm_remote_collect(mine);
  CHECK_EQ(lm_heap_validate(mine), used - COLLECTED);
  lm_store_release(&turn, 2);
  join_thread(thread);
}

/* Its reserve has blocks of its own and one of another's, its bin a block, too. */
static void *fill_reserve_and_sleep(void *unused) {
  size_t class_index = lm_sizeclass_of(BYTES);
  lm_raw_free(lm_raw_malloc(BYTES));
  sleeper = lm_this_heap;
  lm_heap_flush_bin(sleeper, class_index);
  for (size_t i = 0; i < 9; i++) blocks[i] = heap_take(sleeper, class_index);
  lm_heap_flush_bin(sleeper, class_index);
  heap_take(sleeper, class_index); /* finds the bin empty, which takes guests then */
  for (size_t i = 0; i < 8; i++) heap_give(sleeper, blocks[i]);
  CHECK(lm_heap_keep_guest(sleeper, others[0], class_index));
  lm_bin_age(sleeper, class_index);
  CHECK(sleeper->reserves[class_index] != NULL);
  heap_give(sleeper, blocks[8]);
  sleep_until_turn(2);
  CHECK_EQ(heap_take(sleeper, class_index), blocks[8]);
  lm_heap_validate(sleeper);
  return unused;
}

static void what_a_sleeping_thread_has_in_reserve_goes_back(void) {
  if (!lm_os_order_all()) return;
  size_t class_index = lm_sizeclass_of(BYTES);
  struct lm_heap *mine = lm_heap_begin();
  others[0] = heap_take(mine, class_index);
  size_t used = lm_heap_validate(mine);
  pthread_t thread = start_thread(fill_reserve_and_sleep, NULL);
  wait_for_turn(1);
  visit_for_rounds(4);
  CHECK_EQ(sleeper->visits.parked, LM_PARKED);
  CHECK_EQ(sleeper->reserves[class_index], NULL);
  CHECK_EQ(sleeper->bins[class_index], blocks[8]);
  lm_remote_collect(mine);
  CHECK_EQ(lm_heap_validate(mine), used - 1);
  lm_store_release(&turn, 2);
  join_thread(thread);
}

enum { MIDDLE = 100, MIDDLE_BYTES = 100000 };

static void *take_middle_and_sleep(void *unused) {
  for (size_t i = 0; i < MIDDLE; i++) CHECK((blocks[i] = lm_raw_malloc(MIDDLE_BYTES)) != NULL);
  sleeper = lm_this_heap;
  lm_raw_free(blocks[0]);
  size_t cached = lm_middle_cached_count(sleeper);
  CHECK_THAT(cached, >=, MIDDLE_BYTES / PAGE);
  sleep_until_turn(2);
  CHECK_EQ(lm_middle_cached_count(sleeper), 0);
  lm_heap_validate(sleeper);
  for (int i = 0; i < 2; i++) CHECK(lm_raw_malloc(MIDDLE_BYTES) != NULL);
  lm_heap_validate(sleeper);
  return unused;
}

/* Those that others have freed, and those that it has cached. */
static void middle_blocks_of_a_sleeping_thread_s_are_released(void) {
  if (!lm_os_order_all()) return;
  pthread_t thread = start_thread(take_middle_and_sleep, NULL);
  wait_for_turn(1);
  struct lm_heap *mine = lm_heap_begin();
  for (size_t i = 1; i < MIDDLE; i++) {
    CHECK(lm_middle_send(blocks[i]));
    lm_remote_free(mine, blocks[i], LM_CLASS_MIDDLE);
  }
  lm_remote_flush(mine);
  CHECK_THAT(live_count(&sleeper->middle), >=, (MIDDLE - 1) * (MIDDLE_BYTES / PAGE));
  visit_for_rounds(3);
  CHECK_EQ(live_count(&sleeper->middle), 0);
  CHECK(!lm_remote_waits(sleeper));
  lm_store_release(&turn, 2);
  join_thread(thread);
}

static void *leave_orphans(void *unused) {
  take_all();
  free_most();
  return unused;
}

static void orphans_holes_are_made_by_the_clock(void) {
  if (lm_os.purge_decommits || !BLOCKS_LEAVE_PAGES) return;
  sleeper = lm_heap_begin(); /* whose times let_time_pass sets back */
  run_in_thread(leave_orphans, NULL);
  end_all_kept();
  visit_for_rounds(4);
  size_t pages = 0;
  for (size_t i = 1; i < LM_CLASS_MIDDLE; i++)
    for (struct lm_span *span = usable_orphans[i].first; span != NULL; span = span->next)
      pages += (size_t)lm_bit_count(span->hole_pages);
  CHECK_THAT(pages * PAGE, >, BLOCKS * BYTES / 2);
  check_kept();
}

static void in_a_copy_without_the_visitor_the_thread_goes_on(void) {
  struct lm_heap *heap = lm_heap_begin();
  for (uint32_t parked = LM_VISITED; parked <= LM_AWAITED; parked++) {
    lm_store_relaxed(&heap->visits.parked, parked);
    heap->visits.underway = true;
    lm_heap_after_fork(heap);
    CHECK_EQ(heap->visits.parked, LM_NOT_PARKED);
    CHECK(!heap->visits.underway);
  }
}

/* By the system call alone, in the midst of a visit. */
static void such_a_copy_does_not_wait(void) {
  pthread_t thread = start_thread(free_and_sleep, NULL);
  wait_for_turn(1);
  lm_raw_free(lm_raw_malloc(1));
  struct lm_heap *mine = LM_THREAD(lm_this_heap);
  lm_store_relaxed(&mine->visits.parked, LM_VISITED);
  pid_t child = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
  if (child == 0) {
    alarm(60);
    lm_raw_free(lm_raw_malloc(100000));
    _exit(0);
  }
  lm_store_relaxed(&mine->visits.parked, LM_NOT_PARKED);
  int status;
  CHECK_EQ(waitpid(child, &status, 0), child);
  CHECK_EQ(status, 0);
  lm_store_release(&turn, 2);
  join_thread(thread);
}

enum { HANDED = 64 };
static _Atomic(void *) handed[HANDED]; /* blocks of the thread's and the visitors', for the others */

/* The whole protocol at full speed: a thread that goes in and out of its heap, and two that park
 * and visit it. */
static void *visit_all_the_time(void *unused) {
  while (lm_load_relaxed(&turn) == 0) {
    for (size_t i = 0; i < HANDED; i++)
      lm_raw_free(lm_exchange_acq_rel(&handed[i], lm_raw_malloc(i * 16 + 1)));
    lm_visit_all_to_trim();
  }
  return unused;
}

static void a_thread_and_its_visitors_never_meet(void) {
  pthread_t visitors[2];
  for (int i = 0; i < 2; i++) visitors[i] = start_thread(visit_all_the_time, NULL);
  uint64_t random = 7;
  for (int round = 0; round < 200000; round++) {
    size_t i = random_next(&random) % 2000;
    if (blocks[i] != NULL) lm_raw_free(blocks[i]);
    size_t size = random_next(&random) % 3000 + 1;
    if (random_next(&random) % 100 == 0) size *= 100;
    blocks[i] = lm_raw_malloc(size);
    CHECK(blocks[i] != NULL);
    memset(blocks[i], 1, size);
    void *block = lm_raw_malloc(i % 4 == 0 ? size * 10 : size);
    lm_raw_free(lm_exchange_acq_rel(&handed[i % HANDED], block));
  }
  for (size_t i = 0; i < 2000; i++) lm_raw_free(blocks[i]);
  lm_store_relaxed(&turn, 1);
  for (int i = 0; i < 2; i++) join_thread(visitors[i]);
  for (size_t i = 0; i < HANDED; i++) lm_raw_free(lm_exchange_acq_rel(&handed[i], NULL));
  lm_heap_validate(lm_this_heap);
}

int main(void) {
  lm_process_start();
  RUN(a_sleeping_thread_s_holes_are_made_by_others);
  RUN(trim_reaches_sleeping_threads_at_once);
  RUN(trim_puts_back_what_heaps_have_of_each_other);
  RUN(a_thread_that_is_in_a_slow_path_is_not_visited);
  RUN(messages_to_a_sleeping_thread_are_taken);
  RUN(a_visit_takes_some_steps_as_one_if_there_is_as_much_to_do);
  RUN(holes_are_made_in_current_spans_too);
  RUN(what_a_sleeping_thread_has_freed_of_others_is_sent);
  RUN(what_a_sleeping_thread_has_in_reserve_goes_back);
  RUN(middle_blocks_of_a_sleeping_thread_s_are_released);
  RUN(orphans_holes_are_made_by_the_clock);
  RUN(in_a_copy_without_the_visitor_the_thread_goes_on);
  RUN(such_a_copy_does_not_wait);
  RUN(a_thread_and_its_visitors_never_meet);
  return UNIT_RESULT();
}
