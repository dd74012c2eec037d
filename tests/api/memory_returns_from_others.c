// builds: fast linked
// windows: yes
/* The same when another thread freed all of it and this one only goes on with its work. */
#include "slow_path.h"
#include "threads.h"

enum { COUNT = 100000, BYTES = 1000 };
static void *blocks[COUNT];

static void *free_all(void *unused) {
  for (int i = 0; i < COUNT; i++) free(blocks[i]);
  return unused;
}

int main(void) {
  memset(blocks, 1, sizeof blocks);
  be_active(1.5); /* what the activity itself takes counts as live */
  size_t live = resident_bytes();
  for (int i = 0; i < COUNT; i++) memset(blocks[i] = opaque(malloc(BYTES)), 1, BYTES);
  run_in_thread(free_all, NULL);
  be_active(1.5);
  CHECK_THAT(resident_bytes(), <, live + RETURN_SLACK_BYTES);
  return 0;
}
