/* Options that are set while the program runs count from then on, in every thread; what cannot be
 * set says why, and errno stays as it was. */
#include "names.h"

#include "threads.h"

static int set(const char *name, const char *value) { return loam_control(name, NULL, 0, value); }

/* Between two values, while others do the same. */
static void *set_often(void *argument) {
  char value[32];
  (void)argument;
  for (int i = 0; i < 10000; i++) {
    CHECK_EQ(set("purge_delay_ms", i % 2 != 0 ? "never" : "3600000"), 0);
    CHECK_EQ(loam_control("purge_delay_ms", value, sizeof value, NULL), 0);
    CHECK(strcmp(value, "never") == 0 || strcmp(value, "3600000") == 0);
    free(opaque(malloc((size_t)i * 8)));
  }
  return NULL;
}

static void check_foreign(void) {
  static char not_a_block[64];
  CHECK_EQ(set("foreign", "ignore"), 0);
  free(opaque(not_a_block + 16));
  CHECK_EQ(malloc_usable_size(opaque(not_a_block + 16)), 0);
  CHECK_EQ(set("foreign", "abort"), 0);
}

/* What is freed is kept for an hour, then for no time. */
static void check_purge_delay(void) {
  struct loam_stats stats;
  CHECK_EQ(set("purge_delay_ms", "3600000"), 0);
  char *blocks[32];
  for (int i = 0; i < 32; i++) memset(blocks[i] = opaque(malloc(1 << 20)), 1, 1 << 20);
  for (int i = 0; i < 32; i++) free(blocks[i]);
  CHECK_EQ(set("purge_delay_ms", "1"), 0);
  for (int i = 0; i < 200; i++) {
    usleep(10000);
    free(opaque(malloc(1 << 20)));
    loam_stats(&stats, sizeof stats);
    if (stats.free_bytes < 8 << 20) return;
  }
  CHECK(!"went back");
}

int main(void) {
  char value[8];
  errno = 99;
  CHECK_EQ(loam_control("purge_delay_ms", value, sizeof value, NULL), 0);
  CHECK_EQ(strcmp(value, "500"), 0);
  CHECK_EQ(set("purge_delay_ms", "-1"), EINVAL);
  CHECK_EQ(set("no_such", "1"), ENOENT);
  CHECK_EQ(set("stats", "text"), EPERM);
  CHECK_EQ(loam_control("purge_delay_ms", value, 3, "7"), ERANGE);
  CHECK_EQ(loam_control("purge_delay_ms", value, 4, "8"), 0);
  CHECK_EQ(strcmp(value, "500"), 0);
  CHECK_EQ(errno, 99);
  check_foreign();
  check_purge_delay();
  pthread_t other = start_thread(set_often, NULL);
  set_often(NULL);
  join_thread(other);
  return 0;
}
