// arguments: 12
// timeout: 150
// cost: 12
/* A program that goes on for SECONDS: threads that stay pass blocks around, others come and go,
 * children are forked, heaps are made and destroyed, and the sizes of blocks drift from small to
 * large and back. Contents stay right, and resident memory and the number of mappings are at the
 * end what they were once everything had been going for a while. */
#include "../maps.h"
#include "../stress/blocks.h"

#include <sys/wait.h>

enum { STAYING = 3, CHANGING = 4, OWNERS = STAYING + CHANGING, OWN = 32, SHARED = 2048 };
static struct record records[SHARED + OWNERS * OWN];
static struct record *shared[SHARED];     /* swapped atomically by all threads */
static struct record *own[OWNERS][OWN];   /* each of one thread at a time */
static size_t largest = 256;              /* block, for now; written by main */
static uint64_t changes;                  /* of blocks so far; relaxed, all threads */
static int stop;

static int has_stopped(void) { return __atomic_load_n(&stop, __ATOMIC_RELAXED); }

/* ---- Blocks ---- */

static size_t drifting_size(uint64_t *random) {
  size_t size = random_next(random) % __atomic_load_n(&largest, __ATOMIC_RELAXED) + 1;
  return random_next(random) % 8 == 0 ? size : size / 16 + 1;
}

static void refill(struct record *record, uint64_t *random) {
  record_free(record);
  record->size = drifting_size(random);
  record->seed = (unsigned)random_next(random);
  int clear = random_next(random) % 4 == 0;
  record->block = opaque(clear ? calloc(1, record->size) : malloc(record->size));
  CHECK(record->block != NULL);
  if (clear) check_zero(record->block, record->size < 4096 ? record->size : 4096);
  record_fill(record);
}

static void resize(struct record *record, uint64_t *random) {
  if (record->block == NULL) return;
  unsigned seed = record_seed(record);
  size_t old_size = record->size, size = drifting_size(random);
  size_t head = size < old_size ? size : old_size;
  record_check(record, old_size, seed);
  record->block = opaque(realloc(record->block, size));
  CHECK(record->block != NULL);
  check_filled(record->block, 0, head < 512 ? head : 512, seed);
  record->size = size;
  record_fill(record);
}

static void change_some(struct record **owned, uint64_t *random) {
  enum { COUNT = 60 };
  for (int i = 0; i < COUNT; i++) {
    struct record **record = &owned[random_next(random) % OWN];
    *record = __atomic_exchange_n(&shared[random_next(random) % SHARED], *record, __ATOMIC_ACQ_REL);
    if (random_next(random) % 3 == 0) resize(*record, random);
    else refill(*record, random);
  }
  __atomic_add_fetch(&changes, COUNT, __ATOMIC_RELAXED);
}

/* ---- What goes on ---- */

static void *stay(void *owner) {
  uint64_t random = (uintptr_t)owner + 1;
  for (; !has_stopped(); sleep_ms(2)) change_some(own[(uintptr_t)owner], &random);
  return NULL;
}

static void *come_and_go(void *owner) {
  static uint64_t births; /* relaxed */
  uint64_t random = __atomic_add_fetch(&births, 1, __ATOMIC_RELAXED) * 7919;
  void *before = opaque(malloc(random % 3000)); /* the first block may be none of the others' */
  change_some(own[(uintptr_t)owner], &random);
  free(before);
  return NULL;
}

static void *change_threads(void *unused) {
  while (!has_stopped()) {
    pthread_t threads[CHANGING];
    for (uintptr_t i = 0; i < CHANGING; i++)
      threads[i] = start_thread(come_and_go, (void *)(STAYING + i));
    for (int i = 0; i < CHANGING; i++) join_thread(threads[i]);
    sleep_ms(5);
  }
  return unused;
}

static void use_heap(struct loam_heap *heap, uint64_t *random) {
  for (int i = 0; i < 200; i++) {
    size_t size = drifting_size(random);
    unsigned char *block = opaque(loam_heap_malloc(heap, size));
    CHECK(block != NULL);
    block[0] = block[size - 1] = 1;
    if (i % 3 == 0) free(block);
  }
}

static void *change_heaps(void *unused) {
  uint64_t random = 4711;
  for (; !has_stopped(); sleep_ms(20)) {
    struct loam_heap *heap = loam_heap_new();
    CHECK(heap != NULL);
    use_heap(heap, &random);
    loam_heap_free_all(heap);
    use_heap(heap, &random);
    loam_heap_destroy(heap);
  }
  return unused;
}

static void fork_one(void) {
  int status;
  pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    alarm(30);
    for (size_t size = 1; size < MIB; size *= 3) free(opaque(malloc(size)));
    _exit(0);
  }
  CHECK_EQ(waitpid(child, &status, 0), child);
  CHECK_EQ(status, 0);
}

/* ---- What is measured ---- */

struct usage {
  double resident, maps;
};

/* Until so many more blocks have been changed: what is live then does not depend on the machine's
 * other load. */
static void await_changes(uint64_t count) {
  uint64_t end = __atomic_load_n(&changes, __ATOMIC_RELAXED) + count;
  while (__atomic_load_n(&changes, __ATOMIC_RELAXED) < end) sleep_ms(1);
}

/* Sizes drift up for three quarters of a period, and back to the smallest; the most that is seen. */
static struct usage run_period(void) {
  enum { STEPS = 20, CHANGES = 5000 };
  struct usage most = {0, 0};
  for (int step = 0; step < STEPS; step++) {
    size_t limit = step < STEPS * 3 / 4 ? (size_t)256 << (step * 11 / (STEPS * 3 / 4)) : 256;
    __atomic_store_n(&largest, limit, __ATOMIC_RELAXED);
    await_changes(CHANGES);
    if (step % 4 == 0) fork_one();
    double resident = (double)resident_bytes(), maps = (double)count_maps();
    if (resident > most.resident) most.resident = resident;
    if (maps > most.maps) most.maps = maps;
  }
  return most;
}

/* The mean of so many periods. */
static struct usage run_periods(int count) {
  struct usage mean = {0, 0};
  for (int i = 0; i < count; i++) {
    struct usage most = run_period();
    mean.resident += most.resident / count;
    mean.maps += most.maps / count;
  }
  return mean;
}

static int is_flat(struct usage first, struct usage last) {
  return last.resident < first.resident * 1.1 + 3 * MIB && last.maps < first.maps * 1.1 + 50;
}

/* A quarter of the time to warm up; then the first quarter is compared with the last. */
int main(int argument_count, char **arguments) {
  double seconds = argument_count > 1 ? atof(arguments[1]) : 20;
  for (size_t i = 0; i < SHARED; i++) shared[i] = &records[i];
  for (size_t i = 0; i < OWNERS * OWN; i++) own[i / OWN][i % OWN] = &records[SHARED + i];
  pthread_t threads[STAYING + 2];
  for (uintptr_t i = 0; i < STAYING; i++) threads[i] = start_thread(stay, (void *)i);
  threads[STAYING] = start_thread(change_threads, NULL);
  threads[STAYING + 1] = start_thread(change_heaps, NULL);

  double start = seconds_now();
  run_periods(1);
  int quarter = (int)(seconds / (seconds_now() - start) / 4);
  if (quarter < 2) quarter = 2; /* on a busy machine: it takes longer */
  run_periods(quarter - 1);
  struct usage first = run_periods(quarter);
  run_periods(quarter);
  struct usage last = run_periods(quarter);
  /* Who gets a block of another's differs by period. What grows goes on. */
  for (int again = 0; again < 3 && !is_flat(first, last); again++) last = run_periods(quarter);
  fprintf(stderr, "resident: %.1f MiB, then %.1f MiB; mappings: %.0f, then %.0f\n",
          first.resident / MIB, last.resident / MIB, first.maps, last.maps);
  CHECK(is_flat(first, last));

  __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
  for (int i = 0; i < STAYING + 2; i++) join_thread(threads[i]);
  for (size_t i = 0; i < sizeof records / sizeof *records; i++) record_free(&records[i]);
  return 0;
}
