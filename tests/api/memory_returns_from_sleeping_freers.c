// builds: fast linked
// windows: yes
/* Threads that have freed another one's blocks, each so few that it has sent none, and sleep then,
 * keep none of them from their owner, as long as anybody makes calls. */
#include "names.h"
#include "threads.h"

enum { THREADS = 48, BLOCKS = 12288, BYTES = 4000 };

static void *blocks[BLOCKS];
static pthread_barrier_t barrier;

static void *free_and_sleep(void *argument) {
  size_t part = (size_t)argument;
  wait_at_start(&barrier);
  pthread_barrier_wait(&barrier);
  for (size_t i = 0; i < BLOCKS / THREADS; i++) free(blocks[part * (BLOCKS / THREADS) + i]);
  pthread_barrier_wait(&barrier);
  pause();
  return NULL;
}

#define SLACK_BYTES (16 * MIB)

int main(void) {
  CHECK_EQ(pthread_barrier_init(&barrier, NULL, THREADS + 1), 0);
  for (size_t i = 0; i < THREADS; i++) start_thread(free_and_sleep, (void *)i);
  size_t before = resident_at_start(&barrier);
  for (size_t i = 0; i < BLOCKS; i++) touch(blocks[i] = opaque(malloc(BYTES)), BYTES);
  for (int i = 0; i < 2; i++) pthread_barrier_wait(&barrier); /* they free, they sleep */
  /* Two seconds do on a machine that is idle. */
  for (int i = 0; i < 400 && resident_bytes() >= before + SLACK_BYTES; i++) {
    usleep(50000);
    for (int k = 0; k < 5; k++) free(opaque(malloc(100)));
  }
  CHECK_THAT(resident_bytes(), <, before + SLACK_BYTES);
  return 0;
}
