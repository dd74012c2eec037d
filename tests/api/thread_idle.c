// builds: fast checking linked
// windows: yes
/* An event loop that tells that it will sleep (loam_thread_idle): what it and others have freed goes
 * back without any other call, in no more time than told, and where nothing waits at once. */
#include "names.h"

#include "threads.h"

/* Windows counts processor time by its ticks of 16 ms, and the ended thread's in what stays. */
#if defined(_WIN32)
enum { MOST_US = 16000, MOST_BYTES = 3 << 20 };
#else
enum { MOST_US = 1000, MOST_BYTES = 2 << 20 };
#endif
enum { COUNT = 60000 };
static void *blocks[COUNT];

static uint64_t processor_us(void) {
  struct timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

/* Time of the processor, since others may have it meanwhile. */
static int idle(unsigned ms, uint64_t *worst_us) {
  uint64_t before = processor_us();
  int more = loam_thread_idle(ms);
  uint64_t over = processor_us() - before;
  over -= over < ms * 1000 ? over : ms * 1000;
  if (over > *worst_us) *worst_us = over;
  return more;
}

static void *take_and_free(void *unused) {
  for (int i = 0; i < COUNT; i++) touch(blocks[i] = opaque(malloc(16 + i % 1000)), 16 + i % 1000);
  for (int i = 0; i < COUNT; i += 2) free(blocks[i]);
  for (int i = 1; i < COUNT; i += 2) free(blocks[i]);
  return unused;
}

int main(void) {
#if !defined(TEST_PREFIXED)
  if (loam_thread_idle == NULL) return 77;
#endif
  uint64_t worst_us = 0;
  CHECK_EQ(loam_thread_idle(0), 0);
  memset(blocks, 1, sizeof blocks);
  size_t before = resident_bytes();
  for (int round = 0; round < 3; round++) {
    take_and_free(NULL);
    run_in_thread(take_and_free, NULL);
    for (int i = 0; i < 40; i++) {
      idle(i % 2 == 0 ? 20 : 1, &worst_us);
      usleep(50000);
    }
    CHECK_THAT(resident_bytes(), <, before + MOST_BYTES);
  }
  printf("%llu us of processor time beyond what was told, at most\n", (unsigned long long)worst_us);
  CHECK_THAT(worst_us, <=, MOST_US);
  uint64_t start = processor_us();
  CHECK_EQ(loam_thread_idle(60000), 0);
  CHECK_THAT(processor_us() - start, <, 200000);
  return 0;
}
