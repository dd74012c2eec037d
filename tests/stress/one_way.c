// arguments: 1 5 4
// long-arguments: 20 5 4
// windows: yes
/* Half of the threads only allocate, the other half only free: every free is a remote one, and
 * the allocating threads end first. */
#include "blocks.h"

enum { SHARED = 1024 };
static struct record *shared[SHARED];
static struct stress stress;
static int producers_left;

static void *produce(void *index) {
  uint64_t random = stress.seed * 31337 + (uintptr_t)index + 1;
  double end = seconds_now() + stress.seconds;
  for (unsigned i = 0; i % 256 != 0 || seconds_now() < end; i++) {
    struct record **slot = &shared[random_next(&random) % SHARED], *none = NULL;
    if (__atomic_load_n(slot, __ATOMIC_RELAXED) != NULL) continue;
    struct record *record = opaque(malloc(sizeof *record));
    record_allocate(record, &random);
    if (!__atomic_compare_exchange_n(slot, &none, record, 0, __ATOMIC_RELEASE,
                                     __ATOMIC_RELAXED))
      record_free(record), free(record);
  }
  __atomic_fetch_sub(&producers_left, 1, __ATOMIC_RELEASE);
  return NULL;
}

static void *consume(void *index) {
  uint64_t random = stress.seed * 1237 + (uintptr_t)index + 1;
  while (__atomic_load_n(&producers_left, __ATOMIC_ACQUIRE) > 0) {
    for (int i = 0; i < 500; i++) {
      struct record *record = __atomic_exchange_n(&shared[random_next(&random) % SHARED], NULL,
                                                  __ATOMIC_ACQUIRE);
      if (record != NULL) record_free(record), free(record);
    }
  }
  return NULL;
}

static void *work(void *index) {
  return (uintptr_t)index % 2 ? consume(index) : produce(index);
}

int main(int count, char **arguments) {
  stress = stress_arguments(count, arguments);
  producers_left = (stress.thread_count + 1) / 2;
  stress_run(&stress, work);
  for (int i = 0; i < SHARED; i++)
    if (shared[i] != NULL) record_free(shared[i]), free(shared[i]);
  return 0;
}
