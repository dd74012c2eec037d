// builds: fast linked
/* The child of a fork copies the pages that it works on: what lies between the survivors of the
 * parent's peak, free blocks and all, stays as it is. */
#include "../faults.h"
#include "background.h"

enum { COUNT = 100000, KEPT_OF = 10, BLOCK_BYTES = 500, IN_USE = 200 };
static void *blocks[COUNT];

static void leave_survivors(void) {
  for (int i = 0; i < COUNT; i++) memset(blocks[i] = opaque(malloc(BLOCK_BYTES)), 1, BLOCK_BYTES);
  for (int i = 0; i < COUNT; i++) {
    uint64_t random = (uint64_t)i + 1;
    if (random_next(&random) % KEPT_OF != 0) free(blocks[i]);
  }
}

/* As long as it takes the clock to look at all spans a few times. */
static void work(void) {
  static void *in_use[IN_USE];
  uint64_t random = 1;
  for (double end = seconds_now() + 0.8; seconds_now() < end;) {
    void **place = &in_use[random_next(&random) % IN_USE];
    free(*place);
    *place = opaque(malloc(random_next(&random) % 1000));
  }
}

int main(void) {
  leave_survivors();
  pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    long faults_before = fault_count();
    work();
    CHECK_THAT(fault_count() - faults_before, <, 2000); /* of 12,000 pages */
    _exit(0);
  }
  CHECK_EQ(wait_for(child), 0);
}
