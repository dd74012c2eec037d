// builds: fast linked
// windows: yes
/* Threads that have each freed so little of each size that their bins could keep all of it, and
 * whose calls take the fast paths from then on, give it back in a second or two. */
#include <stdatomic.h>
#include <stdbool.h>

#include "names.h"
#include "threads.h"

enum { THREADS = 12, BLOCKS = 6000 };

static _Atomic bool done;
static pthread_barrier_t barrier;

static void *take(uint64_t *random) {
  size_t size = 16 + random_next(random) % 985;
  void *block = opaque(malloc(size));
  touch(block, size);
  return block;
}

static void *be_busy(void *argument) {
  uint64_t random = (uintptr_t)argument;
  void **blocks = malloc(BLOCKS * sizeof *blocks);
  for (size_t i = 0; i < BLOCKS; i++) blocks[i] = take(&random);
  for (size_t i = 0; i < 20 * BLOCKS; i++) {
    size_t index = random_next(&random) % BLOCKS;
    free(blocks[index]);
    blocks[index] = take(&random);
  }
  for (size_t i = 0; i < BLOCKS; i++) free(blocks[i]);
  free(blocks);
  pthread_barrier_wait(&barrier);
  while (!done) {
    for (int i = 0; i < 200; i++) free(opaque(malloc(64)));
    usleep(1000);
  }
  return NULL;
}

#define SLACK_BYTES (16 * MIB)

int main(void) {
  size_t before = resident_bytes();
  pthread_t threads[THREADS];
  CHECK_EQ(pthread_barrier_init(&barrier, NULL, THREADS + 1), 0);
  for (size_t i = 0; i < THREADS; i++) threads[i] = start_thread(be_busy, (void *)(i + 1));
  pthread_barrier_wait(&barrier);
  /* A second does on a machine that is idle. */
  for (int i = 0; i < 100 && resident_bytes() >= before + SLACK_BYTES; i++) usleep(100000);
  CHECK_THAT(resident_bytes(), <, before + SLACK_BYTES);
  done = true;
  for (size_t i = 0; i < THREADS; i++) join_thread(threads[i]);
  return 0;
}
