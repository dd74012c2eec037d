// builds: fast checking hardened linked
// environment: LOAM_OPTIONS=purge_delay_ms=never
// alone: yes
/* A program that calls malloc_trim again and again: haproxy 2091. A call gives back what lies between
 * the blocks in use, also where the clock gives back nothing and has gone round meanwhile; the next
 * one finds that nothing has changed and takes hardly any time. */
#include "check.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { SIZE = 200, COUNT = 64 * 1024 * 1024 / SIZE, KEPT_OF = 100, TRIMS = 10 };
static char *blocks[COUNT];

static double clock_ms(clockid_t clock) {
  struct timespec now;
  clock_gettime(clock, &now);
  return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

/* So that rounds of the clock are made. */
static void live_on(double ms) {
  for (double end = clock_ms(CLOCK_MONOTONIC) + ms; clock_ms(CLOCK_MONOTONIC) < end;)
    for (size_t size = 16; size < 100000; size *= 3) free(opaque(malloc(size)));
}

static double trim(void) {
  double before = clock_ms(CLOCK_THREAD_CPUTIME_ID);
  malloc_trim(0);
  return clock_ms(CLOCK_THREAD_CPUTIME_ID) - before;
}

int main(void) {
  for (size_t i = 0; i < COUNT; i++) blocks[i] = memset(malloc(SIZE), 1, SIZE);
  size_t full = resident_bytes();
  for (size_t i = 0; i < COUNT; i++)
    if (i % KEPT_OF != 0) free(blocks[i]);
  live_on(1000);
  CHECK_THAT(resident_bytes(), >, full / 2);
  trim();
  CHECK_THAT(resident_bytes(), <, full / 2);
  double least = 1e9;
  for (int i = 0; i < TRIMS; i++) {
    double ms = trim();
    if (ms < least) least = ms;
  }
  CHECK_THAT((long long)(least * 1000), <, 1000);
  return 0;
}
