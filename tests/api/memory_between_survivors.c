// builds: fast linked
// windows: yes
/* The pages between the survivors of a peak go back, whether the thread that has left them works,
 * sleeps or has ended: at once by malloc_trim, and by the clock while any thread makes some calls.
 * The survivors keep what is in them. */
#include "children.h"
#include "names.h"
#include "threads.h"

#include <stdbool.h>

enum { COUNT = 100000, KEPT_OF = 20 };
static unsigned char *blocks[COUNT];

static size_t size_of(int i) { return i % 6 < 3 ? 512 : i % 6 < 5 ? 1024 : 2048; }
static bool is_kept(int i) {
  uint64_t random = (uint64_t)i + 1;
  return random_next(&random) % KEPT_OF == 0;
}

static void *leave_survivors(void *unused) {
  for (int i = 0; i < COUNT; i++)
    memset(blocks[i] = opaque(malloc(size_of(i))), i % 251 + 1, size_of(i));
  for (int i = 0; i < COUNT; i++)
    if (!is_kept(i)) free(blocks[i]);
  return unused;
}

static void check_survivors(void) {
  for (int i = 0; i < COUNT; i++) {
    if (!is_kept(i)) continue;
    for (size_t j = 0; j < size_of(i); j++) CHECK_EQ(blocks[i][j], i % 251 + 1);
  }
}

/* With one of 20 blocks kept, a page of 512 bytes' blocks is empty in 66 of 100 cases, one of 2,048
 * in 90. */
static void check_holes(size_t before, size_t peak) {
  size_t stays = resident_bytes() - before;
  CHECK_THAT(stays, <, (peak - before) * 2 / 5);
  check_survivors();
}

enum who { THIS_THREAD, ENDED_THREAD, SLEEPING_THREAD, WHO_COUNT };

static void *leave_survivors_and_sleep(void *barrier) {
  leave_survivors(NULL);
  pthread_barrier_wait(barrier);
  pause();
  return NULL;
}

static void let_leave_survivors(enum who who) {
  static pthread_barrier_t barrier;
  pthread_barrier_init(&barrier, NULL, 2);
  if (who == THIS_THREAD) leave_survivors(NULL);
  else if (who == ENDED_THREAD) run_in_thread(leave_survivors, NULL);
  else {
    start_thread(leave_survivors_and_sleep, &barrier);
    pthread_barrier_wait(&barrier);
  }
}

/* What was resident when all blocks were taken: some may have gone back since, by the clock. */
static size_t peak_after(size_t before) {
  size_t peak = before, now = resident_bytes();
  for (int i = 0; i < COUNT; i++) peak += size_of(i);
  return now > peak ? now : peak;
}

static void trim(enum who who) {
  size_t before = resident_bytes();
  let_leave_survivors(who);
  size_t peak = peak_after(before);
  bool is_back = resident_bytes() - before < (peak - before) * 2 / 5;
  CHECK(malloc_trim(0) == 1 || is_back);
  check_holes(before, peak);
  if (who == SLEEPING_THREAD) return; /* nobody else can have it */
  /* What was given back is there for the next blocks. */
  for (int i = 0; i < COUNT; i++)
    if (!is_kept(i)) memset(blocks[i] = opaque(malloc(size_of(i))), i % 251 + 1, size_of(i));
  CHECK_THAT(resident_bytes(), <, peak + peak / 8);
  check_survivors();
}

static void make_some_calls(enum who who) {
  size_t before = resident_bytes();
  let_leave_survivors(who);
  size_t peak = peak_after(before);
  for (int i = 0; i < 10 && resident_bytes() - before >= (peak - before) * 2 / 5; i++) {
    usleep(1000000); /* two of these do */
    for (int k = 0; k < 2000; k++) free(opaque(malloc(64 + (size_t)k % 3000)));
  }
  check_holes(before, peak);
}

static void check(size_t index) {
  enum who who = index % WHO_COUNT;
  if (index < WHO_COUNT) trim(who);
  else make_some_calls(who);
}

int main(void) {
  memset(blocks, 1, sizeof blocks);
  run_side_by_side(check, 2 * WHO_COUNT);
  return 0;
}
