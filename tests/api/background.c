// builds: fast linked
// windows: yes
/* With background=on memory goes back though no thread makes a call: what lies between the
 * survivors of a peak, also in the child of a fork. The thread that does it keeps no process alive.
 * The program starts itself with LOAM_OPTIONS set. */
#include "execute_again.h"
#include "names.h"
#include "threads.h"

enum { COUNT = 100000, KEPT_OF = 20, BYTES = 1000 };
static unsigned char *blocks[COUNT];

static void leave_survivors(void) {
  for (int i = 0; i < COUNT; i++)
    if (blocks[i] == NULL) memset(blocks[i] = opaque(malloc(BYTES)), i % 251 + 1, BYTES);
  for (int i = 0; i < COUNT; i++) {
    if (i % KEPT_OF == 0) continue;
    free(blocks[i]);
    blocks[i] = NULL;
  }
}

/* One of 20 blocks keeps a page of at most five. */
static void check_that_most_goes_back(size_t before) {
  for (int tries = 0; tries < 100 && resident_bytes() - before >= COUNT * BYTES * 2 / 5; tries++)
    sleep_ms(100);
  CHECK_THAT(resident_bytes() - before, <, COUNT * BYTES * 2 / 5);
  for (int i = 0; i < COUNT; i += KEPT_OF)
    for (int k = 0; k < BYTES; k++) CHECK_EQ(blocks[i][k], i % 251 + 1);
}

static void *end_later(void *unused) {
  sleep_ms(100);
  return unused;
}

#if !defined(_WIN32)
static void check_child_of_fork(size_t before) {
  pid_t child = fork();
  if (child == 0) {
    leave_survivors();
    check_that_most_goes_back(before);
    _exit(0);
  }
  int status;
  CHECK_EQ(waitpid(child, &status, 0), child);
  CHECK_EQ(status, 0);
}
#else
static void check_child_of_fork(size_t before) { (void)before; }
#endif

static int be_child(void) {
  memset(blocks, 0, sizeof blocks);
  size_t before = resident_bytes();
  leave_survivors();
  check_that_most_goes_back(before);
  check_child_of_fork(before);
#if defined(_WIN32)
  return 0; /* the process would not end with its last thread */
#endif
  start_thread(end_later, NULL);
  pthread_exit(NULL); /* so that the process ends with its last thread */
}

static int choose_background(void) {
  static char choice[] = "LOAM_OPTIONS=background=on";
  return putenv(choice) == 0;
}

int main(int argc, char **argv) {
  if (argc > 1 && strcmp(argv[1], "child") == 0) return be_child();
  return run_again(choose_background, argv[0], "child");
}
