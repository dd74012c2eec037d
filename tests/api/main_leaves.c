/* main ends by pthread_exit, and the last thread's end is the process's, with status 0: what main's
 * heap had is the other threads' to use and to free, and handlers run in the last thread. */
#include "threads.h"

#include <sys/wait.h>

enum { BLOCKS = 500 };
static unsigned char *of_main[BLOCKS];
static pthread_t main_thread;
static int report_fd;

static void report(void) {
  free(opaque(malloc(100)));
  CHECK_EQ(write(report_fd, "!", 1), 1);
}

static void *outlive_main(void *unused) {
  CHECK_EQ(pthread_join(main_thread, NULL), 0);
  for (size_t i = 0; i < BLOCKS; i++) {
    check_filled(of_main[i], 0, i * 20 + 1, (unsigned)i);
    if (i % 2 == 0) of_main[i] = (unsigned char *)opaque(realloc(of_main[i], i * 60 + 2));
    free(of_main[i]);
  }
  for (size_t size = 1; size < 10 * MIB; size *= 3) free(opaque(malloc(size)));
  return unused;
}

static void be_child(void) {
  alarm(100);
  atexit(report);
  main_thread = pthread_self();
  for (size_t i = 0; i < BLOCKS; i++)
    fill(of_main[i] = (unsigned char *)opaque(malloc(i * 20 + 1)), 0, i * 20 + 1, (unsigned)i);
  start_thread(outlive_main, NULL);
  pthread_exit(NULL);
}

int main(void) {
  for (int i = 0; i < 20; i++) {
    int ends[2], status;
    char byte;
    CHECK_EQ(pipe(ends), 0);
    report_fd = ends[1];
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) be_child();
    close(ends[1]);
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK_EQ(status, 0);
    CHECK_EQ(read(ends[0], &byte, 1), 1);
    close(ends[0]);
  }
  return 0;
}
