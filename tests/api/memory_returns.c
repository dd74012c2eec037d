// builds: fast linked
// cost: 12
// windows: yes
/* After a peak, memory goes back to the system by itself within a second and a half. */
#include "slow_path.h"

enum { COUNT = 100000 };
static void *blocks[COUNT];

static void check_peak(size_t size, int count) {
  be_active(1.5); /* what the activity itself takes counts as live */
  size_t live = resident_bytes();
  for (int i = 0; i < count; i++) touch(blocks[i] = opaque(malloc(size)), size);
  CHECK_THAT(resident_bytes(), >, live + 90 * MIB);
  for (int i = 0; i < count; i++) free(blocks[i]);
  be_active(1.5);
  CHECK_THAT(resident_bytes(), <, live + RETURN_SLACK_BYTES);
}

int main(void) {
  memset(blocks, 1, sizeof blocks); /* counts as live */
  check_peak(1000, COUNT);
  check_peak(10000, 10000);
  check_peak(100 * KIB, 1000);
  check_peak(25 * MIB, 4);
  return 0;
}
