// builds: fast linked
/* The same when the peak was in threads that have ended. */
#include "slow_path.h"
#include "threads.h"

enum { THREADS = 4, COUNT = 25000, SIZE = 1000 };

static void *peak(void *unused) {
  static __thread void *blocks[COUNT];
  for (int i = 0; i < COUNT; i++) memset(blocks[i] = opaque(malloc(SIZE)), 1, SIZE);
  for (int i = 0; i < COUNT; i++) free(blocks[i]);
  return unused;
}

int main(void) {
  be_active(1.5); /* what the activity itself takes counts as live */
  size_t live = resident_bytes();
  pthread_t threads[THREADS];
  for (int i = 0; i < THREADS; i++) threads[i] = start_thread(peak, NULL);
  for (int i = 0; i < THREADS; i++) join_thread(threads[i]);
  be_active(1.5);
  CHECK_THAT(resident_bytes(), <, live + 2 * MIB);
  return 0;
}
