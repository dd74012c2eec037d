// arguments: 1 3 4
// long-arguments: 20 3 4
// windows: yes
/* Threads take many blocks of about one size, hand all of them over at once, free what others have
 * handed over, and go on with another size, rest, or end: inboxes are full when their owners take,
 * free or end, and what one phase leaves is of no use to the next. */
#include "blocks.h"

enum { SLOTS = 8, RECORDS = 500, PHASES = 12, BYTES = 16 << 20 };

struct batch {
  int count;
  struct record records[RECORDS];
};
static struct batch *slots[SLOTS]; /* swapped atomically by all threads */
static struct stress stress;

static void batch_free(struct batch *batch, int count, uint64_t *random) {
  for (; count > 0 && batch->count > 0; count--) {
    struct record *last = &batch->records[--batch->count];
    struct record *record = &batch->records[random_next(random) % (unsigned)(batch->count + 1)];
    record_free(record);
    *record = *last;
  }
}

static void batch_fill(struct batch *batch, uint64_t *random) {
  size_t smallest = (size_t)16 << random_next(random) % 16;
  for (size_t bytes = 0; bytes < BYTES && batch->count < RECORDS; batch->count++) {
    struct record *record = &batch->records[batch->count];
    record->size = smallest + random_next(random) % smallest;
    record->seed = (unsigned)random_next(random);
    record->block = opaque(malloc(record->size));
    CHECK(record->block != NULL);
    record_fill(record);
    bytes += record->size;
  }
}

static void phase(struct batch **batch, uint64_t *random) {
  switch (random_next(random) % 8) {
  case 0: batch_free(*batch, RECORDS, random); break;
  case 1: batch_free(*batch, (*batch)->count / 2, random); break;
  case 2: sleep_ms((unsigned)(random_next(random) % 16)); break;
  case 3:
    batch_free(*batch, 100, random);
    batch_fill(*batch, random);
    break;
  default:
    batch_fill(*batch, random);
    *batch = __atomic_exchange_n(&slots[random_next(random) % SLOTS], *batch, __ATOMIC_ACQ_REL);
    batch_free(*batch, (*batch)->count / 8 * 7, random);
  }
}

static void *work(void *seed) {
  uint64_t random = (uintptr_t)seed | 1;
  struct batch *batch = opaque(calloc(1, sizeof *batch));
  for (int i = 0; i < PHASES; i++) phase(&batch, &random);
  batch_free(batch, (int)(random_next(&random) % RECORDS), &random);
  batch = __atomic_exchange_n(&slots[random_next(&random) % SLOTS], batch, __ATOMIC_ACQ_REL);
  batch_free(batch, RECORDS, &random);
  free(batch);
  return NULL;
}

static void *lead(void *index) {
  uint64_t random = stress.seed * 7919 + (uintptr_t)index + 1;
  for (double end = seconds_now() + stress.seconds; seconds_now() < end;)
    join_thread(start_thread(work, (void *)(uintptr_t)random_next(&random)));
  return NULL;
}

int main(int count, char **arguments) {
  stress = stress_arguments(count, arguments);
  for (int i = 0; i < SLOTS; i++) slots[i] = opaque(calloc(1, sizeof *slots[i]));
  stress_run(&stress, lead);
  uint64_t random = stress.seed | 1;
  for (int i = 0; i < SLOTS; i++) batch_free(slots[i], RECORDS, &random), free(slots[i]);
  return 0;
}
