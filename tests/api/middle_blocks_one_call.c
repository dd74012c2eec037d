// builds: fast linked
/* No call of malloc pays for all that was freed before it: not for what another thread has freed of
 * the thread's blocks, nor for what the thread has freed itself, though none of that is long
 * enough. */
#include "children.h"
#include "threads.h"

enum { COUNT = 40000, BYTES = 20000, LONGER = 250000, CALLS = 1000, MOST_US = 3000, TOO_LONG = 99 };
static void *blocks[COUNT];

static double thread_seconds(void) {
  struct timespec used;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  return (double)used.tv_sec + (double)used.tv_nsec * 1e-9;
}

static void *free_most(void *unused) {
  for (int i = 0; i < COUNT; i++)
    if (i % 8 != 0) free(blocks[i]);
  return unused;
}

/* Whether none takes long, of the thread's own time. */
static void check_calls(size_t by_another) {
  for (int i = 0; i < COUNT; i++) *(char *)(blocks[i] = opaque(malloc(BYTES))) = 1;
  if (by_another) run_in_thread(free_most, NULL);
  else free_most(NULL);
  for (int i = 0; i < CALLS; i++) {
    double start = thread_seconds();
    opaque(malloc(LONGER));
    if ((thread_seconds() - start) * 1e6 >= MOST_US) _exit(TOO_LONG);
  }
}

/* What the system does in a call meanwhile is not the call's: it may be tried again. */
static void check(int by_another) {
  int status = TOO_LONG << 8;
  for (int tries = 0; tries < 5 && status == TOO_LONG << 8; tries++) {
    pid_t child = start_child(check_calls, (size_t)by_another);
    CHECK_EQ(waitpid(child, &status, 0), child);
  }
  CHECK_EQ(status, 0);
}

int main(void) {
  check(1);
  check(0);
  return 0;
}
