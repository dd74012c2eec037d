// windows: yes
/* How much of what is freed stays in the process is an option, which may be set while it runs: next
 * to nothing with 0, and all of it with `unlimited`, in blocks of whatever size. */
#include "names.h"

enum { BYTES = 16 << 20, LITTLE = 4 << 20, MUCH = 12 << 20, TURNS = 5 };

static void set(const char *name, const char *value) {
  CHECK_EQ(loam_control(name, NULL, 0, value), 0);
}

/* What is free when so much has been taken and freed, some times. */
static uint64_t free_after_turns(size_t size) {
  static void *blocks[BYTES / 128];
  struct loam_stats stats;
  size_t count = BYTES / size;
  for (int turn = 0; turn < TURNS; turn++) {
    for (size_t i = 0; i < count; i++) memset(blocks[i] = opaque(malloc(size)), 1, size);
    for (size_t i = 0; i < count; i++) free(blocks[i]);
  }
  loam_stats(&stats, sizeof stats);
  return stats.free_bytes;
}

int main(void) {
  static const size_t sizes[] = {128, 30000, 1000000};
  set("purge_delay_ms", "3600000"); /* time gives nothing back */
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    malloc_trim(0); /* what is kept already stays else until time passes */
    set("cache_bytes", "0");
    set("heap_cache_bytes", "0");
    CHECK_THAT(free_after_turns(sizes[i]), <, LITTLE);
    set("cache_bytes", "unlimited");
    set("heap_cache_bytes", "unlimited");
    CHECK_THAT(free_after_turns(sizes[i]), >, MUCH);
  }
  return 0;
}
