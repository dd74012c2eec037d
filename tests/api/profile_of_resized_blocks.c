/* A middle block that realloc leaves where it is stays there while a profile is taken, and counts as
 * a new one all the same: estimates of what grows are right, whether it moves for that or not. */
#include "names.h"

#include <math.h>
#include <stdbool.h>

#include "profile_file.h"

#define FIRST_BYTES 40000
#define SECOND_BYTES 80000
#define COUNT 20000

static char path[64];
static const void *caller; /* of the last resize */

/* `behind` is in the way where it is to move. */
static __attribute__((noinline)) void *take_and_resize(size_t first, size_t second, bool moves) {
  char *block = opaque(malloc(first)), *behind = moves ? opaque(malloc(first)) : NULL;
  block = opaque(realloc(block, second));
  free(behind);
  return block;
}

static __attribute__((noinline)) void resize_often(void) {
  for (int i = 0; i < COUNT; i++) free(take_and_resize(FIRST_BYTES, SECOND_BYTES, i % 2 != 0));
  caller = __builtin_return_address(0);
}

static int count_moves(void) {
  int moves = 0;
  for (int i = 0; i < 100; i++) {
    char *block = opaque(malloc(FIRST_BYTES));
    uintptr_t before = (uintptr_t)block;
    block = opaque(realloc(block, FIRST_BYTES * 3 / 4));
    moves += (uintptr_t)block != before;
    free(block);
  }
  return moves;
}

static void it_stays_where_it_is(void) {
  if (count_moves() != 0) return; /* as in the checking build, which moves all */
  CHECK_EQ(loam_profile_start(1 << 28), 0);
  CHECK(count_moves() <= 5);
  loam_profile_stop();
}

/* The variance of `count` blocks, of which each is a sample with the probability p and stands for
 * 1 / p then. */
static double variance(double count, double bytes, double distance) {
  double p = 1 - exp(-bytes / distance);
  return count * (1 - p) / p;
}

static void it_counts_as_a_new_one(void) {
  const size_t distance = 1 << 20;
  const double taken = COUNT * 2.5; /* a first and a second one, and each second time one behind */
  CHECK_EQ(loam_profile_start(distance), 0);
  resize_often();
  loam_profile_stop();
  CHECK_EQ(loam_profile_write(path), 0);
  read_profile(path);
  double off = sqrt(variance(COUNT * 1.5, FIRST_BYTES, (double)distance) +
                    variance(COUNT, SECOND_BYTES, (double)distance));
  struct sums sums = sums_from(caller);
  printf("taken %.0f of %.0f, off by %.0f\n", sums.taken_count, taken, off);
  CHECK(fabs(sums.taken_count - taken) <= 5 * off);
  if (strcmp(test_build(), "checking") != 0) CHECK_EQ(sums.live_count, 0); /* that frees later */
}

int main(void) {
  if (loam_profile_start == NULL || !CALLERS_ARE_KNOWN) return 77;
  snprintf(path, sizeof path, "/tmp/loam-test-profile.%d", getpid());
  it_stays_where_it_is();
  it_counts_as_a_new_one();
  unlink(path);
  return 0;
}
