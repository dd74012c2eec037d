/* mallinfo2 and loam_stats count what the program has, not the spans that it is in. */
#include "names.h"

#include <pthread.h>

enum { COUNT = 300000, LEFT_EACH = 400, SIZE = 100 };
static void *blocks[COUNT];

static void take_and_leave_few(void) {
  for (int i = 0; i < COUNT; i++) blocks[i] = opaque(malloc(SIZE));
  for (int i = 0; i < COUNT; i++)
    if (i % LEFT_EACH != 0) free(blocks[i]);
}

static void *take_in_thread(void *unused) {
  take_and_leave_few();
  return unused;
}

/* Bytes in use above those of before, of which the checking build holds some back. */
static void check_left(size_t before) {
  struct mallinfo2 now = mallinfo2();
  size_t left = COUNT / LEFT_EACH, block_bytes = malloc_usable_size(blocks[0]);
  CHECK_THAT(now.uordblks - before, >=, left * SIZE);
  CHECK_THAT(now.uordblks - before, <=, left * block_bytes + 2 * MIB);
  CHECK_EQ(now.arena, now.uordblks + now.fordblks);
  CHECK_THAT(now.uordblks + now.fordblks, >=, (size_t)COUNT * SIZE / 2);
}

int main(void) {
  pthread_t thread;
  size_t before = mallinfo2().uordblks;
  take_and_leave_few();
  check_left(before);
  if (loam_stats != NULL) {
    struct loam_stats stats;
    loam_stats(&stats, sizeof stats);
    CHECK_EQ(stats.small_used_bytes + stats.middle_used_bytes + stats.large_used_bytes,
             mallinfo2().uordblks);
    CHECK_THAT(stats.resident_bytes, >, stats.used_bytes);
    CHECK_THAT(stats.peak_resident_bytes, >=, stats.resident_bytes);
  }
  for (int i = 0; i < COUNT; i += LEFT_EACH) free(blocks[i]);
  CHECK_THAT(mallinfo2().uordblks, <=, before + 2 * MIB);
  CHECK_EQ(pthread_create(&thread, NULL, take_in_thread, NULL), 0);
  CHECK_EQ(pthread_join(thread, NULL), 0);
  check_left(before);
  return 0;
}
