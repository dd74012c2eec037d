// builds: fast linked
// windows: yes
/* What a thread has taken and another one frees comes back though its owner sleeps, of whatever
 * size it is, as long as anybody makes calls. */
#include "children.h"
#include "names.h"
#include "threads.h"

enum { BLOCKS_MAX = 400000 };
#define TAKEN_BYTES (200 * MIB)
#define SLACK_BYTES (16 * MIB)

static const size_t sizes[] = {500, 4000, 20000, 100000, 250000, 1000000};
static void *blocks[BLOCKS_MAX];
static pthread_barrier_t barrier;

static void *take_and_sleep(void *argument) {
  size_t bytes = *(const size_t *)argument;
  for (size_t i = 0; i < TAKEN_BYTES / bytes && i < BLOCKS_MAX; i++)
    touch(blocks[i] = opaque(malloc(bytes)), bytes);
  pthread_barrier_wait(&barrier);
  pause();
  return NULL;
}

static void check(size_t index) {
  CHECK_EQ(pthread_barrier_init(&barrier, NULL, 2), 0);
  memset(blocks, 0xff, sizeof blocks); /* counts as live */
  size_t before = resident_bytes();
  memset(blocks, 0, sizeof blocks);
  start_thread(take_and_sleep, (void *)&sizes[index]);
  pthread_barrier_wait(&barrier);
  CHECK_THAT(resident_bytes(), >, before + TAKEN_BYTES * 3 / 4);
  for (size_t i = 0; i < BLOCKS_MAX; i++) free(blocks[i]);
  /* Two seconds do on a machine that is idle. */
  for (int i = 0; i < 400 && resident_bytes() >= before + SLACK_BYTES; i++) {
    usleep(50000);
    for (int k = 0; k < 5; k++) free(opaque(malloc(100)));
  }
  CHECK_THAT(resident_bytes(), <, before + SLACK_BYTES);
}

int main(void) {
  run_one_by_one(check, sizeof sizes / sizeof *sizes);
  return 0;
}
