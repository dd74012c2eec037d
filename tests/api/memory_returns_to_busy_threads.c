// builds: fast linked
// windows: yes
/* A thread whose calls all take the fast paths, as fast as it can or some hundred in a millisecond,
 * gives a peak back in a second or two: its own, of blocks of any kind, and what another thread
 * frees of its blocks. */
#include "children.h"
#include "names.h"
#include "threads.h"

#include <stdbool.h>

enum { COUNT = 200000, ROUNDS = 3 };
static void *blocks[COUNT];

struct use {
  size_t count, size;
  bool elsewhere; /* freed by another thread */
  useconds_t rest_us; /* after 200 calls */
};

static void *free_all(void *argument) {
  const struct use *use = argument;
  for (size_t i = 0; i < use->count; i++) free(blocks[i]);
  return NULL;
}

static void take_and_free(struct use *use) {
  for (size_t i = 0; i < use->count; i++) touch(blocks[i] = opaque(malloc(use->size)), use->size);
  if (use->elsewhere) run_in_thread(free_all, use);
  else free_all(use);
}

static void be_busy(double seconds, useconds_t rest_us) {
  for (double end = seconds_now() + seconds; seconds_now() < end;) {
    for (int i = 0; i < 200; i++) free(opaque(malloc(64)));
    if (rest_us != 0) usleep(rest_us);
  }
}

#define SLACK_BYTES (16 * MIB)

static struct use uses[] = {
    {200000, 500, false, 0},   {200000, 500, false, 1000},  {200000, 500, true, 0},
    {200000, 500, true, 1000}, {1000, 100000, false, 1000}, {300, MIB, false, 1000},
};

static void check(size_t index) {
  struct use *use = &uses[index];
  free(opaque(malloc(64)));
  size_t before = resident_bytes();
  for (int i = 0; i < ROUNDS; i++) take_and_free(use);
  /* A second and a half does on a machine that is idle. */
  for (int i = 0; i < 20 && resident_bytes() >= before + SLACK_BYTES; i++)
    be_busy(0.5, use->rest_us);
  CHECK_THAT(resident_bytes(), <, before + SLACK_BYTES);
}

int main(void) {
  memset(blocks, 1, sizeof blocks); /* counts as live */
  run_side_by_side(check, sizeof uses / sizeof *uses);
  return 0;
}
