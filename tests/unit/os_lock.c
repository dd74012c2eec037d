/* The lock: mutual exclusion, waking, ranks. */
#include "unit.h"

#include <sys/time.h>

enum { THREADS = 4, ROUNDS = 20000 };
static struct lm_lock lock = LM_LOCK_INIT(LM_RANK_CENTRAL);
static volatile long counter; /* under the lock */

static void *count(void *unused) {
  for (int i = 0; i < ROUNDS; i++) {
    lm_lock_take(&lock);
    long before = counter;
    if (i % 64 == 0) sched_yield(); /* so that others find it held, and sleep */
    counter = before + 1;
    lm_lock_free(&lock);
  }
  return unused;
}

static void count_in_threads(void) {
  pthread_t threads[THREADS];
  for (int i = 0; i < THREADS; i++) threads[i] = start_thread(count, NULL);
  for (int i = 0; i < THREADS; i++) join_thread(threads[i]);
  CHECK_EQ(counter, (long)THREADS * ROUNDS);
  CHECK_EQ(lm_load_relaxed(&lock.state), 0);
}

static void one_thread_at_a_time_holds_it(void) { count_in_threads(); }

static void it_excludes_without_spinning_too(void) {
  lm_os.cpu_count = 1;
  count_in_threads();
}

static void *take_and_free(void *unused) {
  lm_lock_take(&lock);
  lm_lock_free(&lock);
  return unused;
}

static void a_sleeper_is_woken(void) {
  lm_lock_take(&lock);
  pthread_t sleepers[3];
  for (int i = 0; i < 3; i++) sleepers[i] = start_thread(take_and_free, NULL);
  while (lm_load_relaxed(&lock.state) != 2) sleep_ms(1);
  sleep_ms(20);
  lm_lock_free(&lock);
  for (int i = 0; i < 3; i++) join_thread(sleepers[i]);
  CHECK_EQ(lm_load_relaxed(&lock.state), 0);
}

static void a_lock_nobody_waits_for_wakes_nobody(void) {
  lm_lock_take(&lock);
  CHECK_EQ(lm_load_relaxed(&lock.state), 1);
  lm_lock_free(&lock);
  CHECK_EQ(lm_load_relaxed(&lock.state), 0);
}

static void rising_ranks_are_good(void) {
  struct lm_lock higher = LM_LOCK_INIT(LM_RANK_POOL);
  for (int i = 0; i < 2; i++) {
    lm_lock_take(&lock);
    lm_lock_take(&higher);
    lm_lock_free(&higher);
    lm_lock_free(&lock);
  }
}

static void take_in_falling_rank(void) {
  struct lm_lock lower = LM_LOCK_INIT(LM_RANK_CACHES);
  lm_lock_take(&lock);
  lm_lock_take(&lower);
}

static void the_checking_build_ends_the_program_at_a_falling_rank(void) {
  if (!LM_CHECKING) return;
  pid_t child = fork();
  if (child == 0) {
    close(2);
    take_in_falling_rank();
    _exit(0);
  }
  int status;
  CHECK_EQ(waitpid(child, &status, 0), child);
  CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
}

static struct lm_lock lower_lock = LM_LOCK_INIT(LM_RANK_CACHES);
static volatile long taken_by_handler;

static void take_lower_if_free(int unused) {
  (void)unused;
  if (lm_load_relaxed(&lock.state) != 0) return;
  lm_lock_take(&lower_lock);
  taken_by_handler++;
  lm_lock_free(&lower_lock);
}

static void a_handler_may_take_locks_whenever_none_is_held(void) {
  const struct itimerval often = {{0, 50}, {0, 50}}, never = {{0, 0}, {0, 0}};
  signal(SIGALRM, take_lower_if_free);
  CHECK_EQ(setitimer(ITIMER_REAL, &often, NULL), 0);
  while (taken_by_handler < 2000) {
    take_and_free(NULL);
    if (lm_lock_try(&lock)) lm_lock_free(&lock);
  }
  CHECK_EQ(setitimer(ITIMER_REAL, &never, NULL), 0);
  signal(SIGALRM, SIG_DFL);
}

static size_t visited;
static uint32_t last_rank;
static void visit(struct lm_lock *visited_lock) {
  CHECK_THAT(visited_lock->rank, >=, last_rank);
  CHECK_EQ(lm_load_relaxed(&visited_lock->state), 0);
  last_rank = visited_lock->rank;
  visited++;
}

static void fork_takes_the_locks_by_rank_and_both_sides_find_them_free(void) {
  lm_raw_free(lm_raw_malloc(1));
  pid_t child = fork();
  for_each_lock(visit);
  CHECK_EQ(last_rank, LM_RANK_UNWIND);
  CHECK_THAT(visited, >, LM_POOL_MAX + 10);
  if (child == 0) _exit(0);
  int status;
  CHECK_EQ(waitpid(child, &status, 0), child);
  CHECK_EQ(status, 0);
}

int main(void) {
  RUN(one_thread_at_a_time_holds_it);
  RUN(it_excludes_without_spinning_too);
  RUN(a_sleeper_is_woken);
  RUN(a_lock_nobody_waits_for_wakes_nobody);
  RUN(rising_ranks_are_good);
  RUN(the_checking_build_ends_the_program_at_a_falling_rank);
  RUN(a_handler_may_take_locks_whenever_none_is_held);
  RUN(fork_takes_the_locks_by_rank_and_both_sides_find_them_free);
  return UNIT_RESULT();
}
