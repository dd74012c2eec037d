// builds: fast linked
// windows: yes
/* The same when the peak was in threads that have ended. */
#include "slow_path.h"
#include "threads.h"

enum { THREADS = 4, COUNT = 25000, BYTES = 1000 };

/* Not in the threads' own memory, which the C library keeps for later threads. */
static void *all_blocks[THREADS][COUNT];

static void *peak(void *number) {
  void **blocks = all_blocks[(intptr_t)number];
  for (int i = 0; i < COUNT; i++) memset(blocks[i] = opaque(malloc(BYTES)), 1, BYTES);
  for (int i = 0; i < COUNT; i++) free(blocks[i]);
  return NULL;
}

int main(void) {
  memset(all_blocks, 1, sizeof all_blocks); /* counts as live */
  be_active(1.5); /* what the activity itself takes counts as live */
  size_t live = resident_bytes();
  pthread_t threads[THREADS];
  for (int i = 0; i < THREADS; i++) threads[i] = start_thread(peak, (void *)(intptr_t)i);
  for (int i = 0; i < THREADS; i++) join_thread(threads[i]);
  be_active(1.5);
  CHECK_THAT(resident_bytes(), <, live + RETURN_SLACK_BYTES);
  return 0;
}
