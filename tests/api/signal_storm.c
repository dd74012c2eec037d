/* Signals without end, ten thousand in a second, interrupt threads wherever they are in malloc and
 * free, waits for locks and system calls among it. */
#include "../stress/blocks.h"

#include <signal.h>
#include <sys/time.h>

enum { THREADS = 4, OWN = 64, SHARED = 128 };
static struct record *shared[SHARED]; /* swapped atomically */
static struct record records[THREADS * OWN + SHARED];
static int signals; /* relaxed */
static double end_seconds;

static void count(int signal) {
  (void)signal;
  __atomic_add_fetch(&signals, 1, __ATOMIC_RELAXED);
}

static void *work(void *index) {
  uint64_t random = (uintptr_t)index + 1;
  struct record *own[OWN];
  for (size_t i = 0; i < OWN; i++) own[i] = &records[(uintptr_t)index * OWN + i];
  while (seconds_now() < end_seconds) {
    for (int i = 0; i < 100; i++) {
      struct record **record = &own[random_next(&random) % OWN];
      struct record **place = &shared[random_next(&random) % SHARED];
      *record = __atomic_exchange_n(place, *record, __ATOMIC_ACQ_REL);
      errno = 0;
      int resizes = (*record)->block != NULL && random_next(&random) % 3 == 0;
      if (resizes) record_resize(*record, &random);
      else record_free(*record), record_allocate(*record, &random);
      CHECK_EQ(errno, 0);
    }
    malloc_trim(0);
  }
  return NULL;
}

int main(void) {
  struct sigaction action = {.sa_handler = count}; /* without SA_RESTART */
  struct itimerval often = {{0, 100}, {0, 100}}, never = {{0, 0}, {0, 0}};
  pthread_t threads[THREADS];
  CHECK_EQ(sigaction(SIGALRM, &action, NULL), 0);
  CHECK_EQ(setitimer(ITIMER_REAL, &often, NULL), 0);
  end_seconds = seconds_now() + 1.5;
  for (size_t i = 0; i < SHARED; i++) shared[i] = &records[THREADS * OWN + i];
  for (uintptr_t i = 0; i < THREADS; i++) threads[i] = start_thread(work, (void *)i);
  for (int i = 0; i < THREADS; i++) {
    for (int number = 0; pthread_tryjoin_np(threads[i], NULL) != 0; number++) {
      pthread_kill(threads[number % (THREADS - i) + i], SIGALRM); /* one of those that live */
      sched_yield();
    }
  }
  CHECK_EQ(setitimer(ITIMER_REAL, &never, NULL), 0);
  CHECK_THAT(signals, >, 500);
  for (size_t i = 0; i < sizeof records / sizeof *records; i++) record_free(&records[i]);
  return 0;
}
