// windows: yes
/* Ten thousand threads, one after the other: what one leaves serves the next, in memory and in
 * heaps, and nothing is lost of what they leave behind in use. */
#include "names.h"
#include "threads.h"

enum { THREADS = 10000, LEFT = 64 };
static unsigned char *left[LEFT]; /* in use by nobody but the next threads */

static void *replace_one(void *number) {
  size_t i = (uintptr_t)number % LEFT, size = i * i * 3 + 1;
  if (left[i] != NULL) check_filled(left[i], 0, size, (unsigned)i);
  free(left[i]);
  left[i] = opaque(malloc(size));
  fill(left[i], 0, size, (unsigned)i);
  return NULL;
}

static void run_threads(size_t count) {
  for (uintptr_t i = 0; i < count; i++) run_in_thread(replace_one, (void *)i);
}

int main(void) {
  run_threads(500);
  size_t before = resident_bytes();
  run_threads(THREADS);
  CHECK_THAT(resident_bytes(), <, before + 2 * MIB);
  if (getenv("LOAM_TEST_ANY") == NULL) {
    struct loam_stats stats;
    loam_stats(&stats, sizeof stats);
    CHECK_THAT(stats.heap_made_count, <, 20);
  }
  for (int i = 0; i < LEFT; i++) free(left[i]);
  return 0;
}
