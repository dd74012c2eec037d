/* A process that ends while its threads allocate: by exit in any thread, quick_exit, the return of
 * main, and main's pthread_exit. Handlers and destructors still allocate, and the status is what
 * the program says. */
#include "threads.h"

#include <sys/wait.h>

enum { STATUS = 7, TIMES = 10 };
static char *of_program;

static void use_heap(void) {
  of_program = (char *)opaque(realloc(of_program, 300000));
  for (size_t size = 1; size < 3 * MIB; size *= 7) free(opaque(malloc(size)));
  free(of_program);
  of_program = NULL;
}
__attribute__((destructor)) static void destruct(void) { free(opaque(calloc(1, 5000))); }

static void *allocate_for_ever(void *seed) {
  uint64_t random = (uintptr_t)seed + 1;
  void *blocks[64] = {NULL};
  while (seed != blocks) {
    void **block = &blocks[random_next(&random) % 64];
    free(*block);
    *block = opaque(malloc(random_next(&random) % 40000));
  }
  return NULL;
}

static void *exit_here(void *unused) {
  exit(STATUS);
  return unused;
}
static void *quick_exit_here(void *unused) {
  quick_exit(STATUS);
  return unused;
}

static void start_threads(void) {
  of_program = (char *)opaque(malloc(100));
  CHECK_EQ(atexit(use_heap), 0);
  CHECK_EQ(at_quick_exit(use_heap), 0);
  for (uintptr_t i = 0; i < 3; i++) start_thread(allocate_for_ever, (void *)i);
}

static void exit_in_main(void) { exit(STATUS); }
static void exit_in_thread(void) { run_in_thread(exit_here, NULL); }
static void quick_exit_in_main(void) { quick_exit(STATUS); }
static void quick_exit_in_thread(void) { run_in_thread(quick_exit_here, NULL); }
static void leave_main(void) {
  start_thread(exit_here, NULL);
  pthread_exit(NULL);
}

static void end_in_child(void (*end)(void), int time) {
  int status;
  pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    alarm(100);
    start_threads();
    if (time % 2 == 0) sleep_ms(1);
    end();
    _exit(1);
  }
  CHECK_EQ(waitpid(child, &status, 0), child);
  CHECK(WIFEXITED(status));
  CHECK_EQ(WEXITSTATUS(status), STATUS);
}

int main(void) {
  static void (*const ends[])(void) = {exit_in_main, exit_in_thread, quick_exit_in_main,
                                       quick_exit_in_thread, leave_main};
  for (int time = 0; time < TIMES; time++)
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) end_in_child(ends[i], time);
  return 0;
}
