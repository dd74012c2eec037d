// arguments: 1 7 4
// long-arguments: 20 7 4
// windows: yes
/* Threads pass blocks of all sizes around by swapping them with a shared table. */
#include "blocks.h"

enum { SHARED = 256, PRIVATE = 64 };
static struct record *shared[SHARED]; /* swapped atomically by all threads */
static struct stress stress;

static void *work(void *index) {
  uint64_t random = stress.seed * 1000003 + (uintptr_t)index + 1;
  struct record *own[PRIVATE];
  for (int i = 0; i < PRIVATE; i++) own[i] = opaque(calloc(1, sizeof *own[i]));
  for (double end = seconds_now() + stress.seconds; seconds_now() < end;) {
    for (int i = 0; i < 200; i++) {
      struct record **record = &own[random_next(&random) % PRIVATE];
      switch (random_next(&random) % 4) {
      case 0:
        if ((*record)->block != NULL) record_resize(*record, &random);
        break;
      case 1:
        *record = __atomic_exchange_n(&shared[random_next(&random) % SHARED], *record,
                                      __ATOMIC_ACQ_REL);
        break;
      default:
        record_free(*record);
        record_allocate(*record, &random);
      }
    }
  }
  for (int i = 0; i < PRIVATE; i++) record_free(own[i]), free(own[i]);
  return NULL;
}

int main(int count, char **arguments) {
  stress = stress_arguments(count, arguments);
  for (int i = 0; i < SHARED; i++) shared[i] = opaque(calloc(1, sizeof *shared[i]));
  stress_run(&stress, work);
  for (int i = 0; i < SHARED; i++) record_free(shared[i]), free(shared[i]);
  return 0;
}
