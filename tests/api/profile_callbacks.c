/* A runtime that keeps stacks of its own: each sample is told once when it is taken and once when it
 * is freed, with the word that it got, whoever frees it; the callbacks may use malloc and free. */
#include "names.h"

#include <math.h>
#include <stdatomic.h>

#include "profile_file.h"
#include "threads.h"

enum { COUNT = 200000, THREADS = 4, SIZES = 5, DISTANCE = 4096 };
static const size_t sizes[SIZES] = {24, 200, 5000, 40000, 300000};
static _Atomic(long) taken_count, freed_count;
static _Atomic(long long) live_weight;
static __thread int depth;

struct note {
  struct note *self;
  void *block;
  size_t size, weight;
};

static void *note_taken(void *context, void *block, size_t size, size_t weight) {
  CHECK_EQ(++depth, 1);
  CHECK(context == &live_weight && size != 0 && weight + 1 >= size);
  struct note *note = opaque(malloc(sizeof *note)); /* in the midst of one */
  *note = (struct note){note, block, size, weight};
  atomic_fetch_add(&taken_count, 1);
  atomic_fetch_add(&live_weight, (long long)weight);
  errno = EDOM;
  depth--;
  return note;
}

static void note_freed(void *context, void *word) {
  struct note *note = word;
  CHECK(context == &live_weight && note->self == note);
  atomic_fetch_add(&freed_count, 1);
  atomic_fetch_sub(&live_weight, (long long)note->weight);
  note->self = NULL;
  free(note);
  errno = EDOM;
}

static void *take(size_t size) {
  errno = 0;
  char *block = opaque(malloc(size));
  CHECK_EQ(errno, 0);
  block[0] = block[size - 1] = 1;
  return block;
}

static void give(void *block) {
  errno = 0;
  free(block);
  CHECK_EQ(errno, 0);
}

static _Atomic(void *) shared[512];
static pthread_barrier_t profile_is_on;

/* What one thread has taken another may free. */
static void *exchange_blocks(void *seed) {
  uint64_t random = (uintptr_t)seed;
  pthread_barrier_wait(&profile_is_on);
  for (int i = 0; i < COUNT / THREADS; i++) {
    uint64_t number = random_next(&random);
    void *block = take(sizes[number % 1000 < 990 ? number % 3 : number % SIZES]);
    if (number % 7 == 0) block = opaque(realloc(block, sizes[number % SIZES]));
    give(atomic_exchange(&shared[number / 7 % 512], block));
  }
  return NULL;
}

static void free_all(void) {
  for (size_t i = 0; i < sizeof shared / sizeof *shared; i++) give(atomic_exchange(&shared[i], NULL));
}

/* In the profile's own file the same is live. */
static void check_live_is_as_in_the_file(void) {
  char path[64];
  snprintf(path, sizeof path, "/tmp/loam-test-profile.%d", getpid());
  CHECK_EQ(loam_profile_write(path), 0);
  read_profile(path);
  unlink(path);
  double live = (double)atomic_load(&live_weight);
  CHECK_THAT(fabs(sums_with("site ").live_bytes - live), <=, 0.001 * live + 1e4);
}

int main(void) {
  if (loam_profile_start == NULL) return 77;
  struct loam_profile_callbacks callbacks = {note_taken, note_freed, &live_weight}, none = {0};
  CHECK_EQ(loam_profile_set_callbacks(NULL), EINVAL);
  CHECK_EQ(loam_profile_set_callbacks(&none), EINVAL);
  CHECK_EQ(loam_profile_set_callbacks(&callbacks), 0);
  CHECK_EQ(loam_profile_set_callbacks(&callbacks), EBUSY);
  give(take(1 << 20));
  CHECK_EQ(taken_count, 0); /* no profile is taken */
  /* What the C library takes for a thread it keeps for the next one. */
  pthread_barrier_init(&profile_is_on, NULL, THREADS + 1);
  pthread_t threads[THREADS];
  for (size_t i = 0; i < THREADS; i++) threads[i] = start_thread(exchange_blocks, (void *)(i + 1));
  CHECK_EQ(loam_profile_start(DISTANCE), 0);
  pthread_barrier_wait(&profile_is_on);
  for (int i = 0; i < THREADS; i++) join_thread(threads[i]);
  CHECK_THAT(taken_count, >, COUNT / 100);
  check_live_is_as_in_the_file();
  loam_profile_stop();
  free_all(); /* is still told */
  printf("%ld taken, %ld freed, %lld live\n", taken_count, freed_count, live_weight);
  if (strcmp(test_build(), "checking") != 0) CHECK_EQ(taken_count, freed_count); /* frees later */
  CHECK_THAT(live_weight, <=, 64 * (long long)MIB);
  return 0;
}
