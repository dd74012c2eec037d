/* Blocks of sizes at random, of which threads free each other's: each class's bins fill and empty
 * by chance, and what all of it adds up to is known. */
#include "names.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>

#include "profile_file.h"

#define SAMPLE_BYTES 8192
#define KEPT 8000
#define TURNS 150000
#define SHARED 64
#define THREADS 2
#define SMALLEST 512
#define LARGEST 2000

static _Atomic(void *) shared[SHARED];
static const void *_Atomic caller; /* of each take */

static uint64_t next_random(uint64_t *state) {
  *state ^= *state << 13, *state ^= *state >> 7, *state ^= *state << 17;
  return *state >> 16;
}

static __attribute__((noinline)) void *take(size_t size) {
  void *block = opaque(malloc(size));
  caller = __builtin_return_address(0);
  return block;
}

static __attribute__((noinline)) void *exchange(void *seed) {
  static __thread void *kept[KEPT];
  uint64_t state = *(const uint64_t *)seed;
  for (size_t i = 0; i < TURNS; i++) {
    void **place = &kept[next_random(&state) % KEPT];
    free(*place);
    *place = take(SMALLEST + next_random(&state) % (LARGEST - SMALLEST + 1));
    if (i % 8 == 0) *place = atomic_exchange(&shared[i / 8 % SHARED], *place);
  }
  for (size_t i = 0; i < KEPT; i++) free(kept[i]);
  return NULL;
}

int main(void) {
  static const uint64_t seeds[THREADS] = {88172645463325252u, 2463534242u};
  char path[64];
  pthread_t threads[THREADS];
  if (loam_profile_start == NULL || !CALLERS_ARE_KNOWN) return 77;
  snprintf(path, sizeof path, "/tmp/loam-test-profile.%d", getpid());
  CHECK_EQ(loam_profile_start(SAMPLE_BYTES), 0);
  for (size_t i = 0; i < THREADS; i++)
    CHECK_EQ(pthread_create(&threads[i], NULL, exchange, (void *)&seeds[i]), 0);
  for (size_t i = 0; i < THREADS; i++) CHECK_EQ(pthread_join(threads[i], NULL), 0);
  loam_profile_stop();
  CHECK_EQ(loam_profile_write(path), 0);
  read_profile(path);
  struct sums sums = sums_from(caller);
  /* Five standard deviations, as if all blocks were as rarely samples as the smallest. */
  double count = (double)THREADS * TURNS, p = 1 - exp(-(double)SMALLEST / SAMPLE_BYTES);
  printf("taken %.0f of %.0f\n", sums.taken_count, count);
  CHECK(fabs(sums.taken_count - count) <= 5 * sqrt(count * (1 - p) / p));
  unlink(path);
  return 0;
}
