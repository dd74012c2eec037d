// cost: 10
/* A program with one thread forks in a signal handler, wherever malloc and free have been when the
 * signal came: fork is safe there. Parent and child go on where they were. */
#include "background.h"

#include <signal.h>
#include <sys/time.h>

enum { FORKS = 3000, MOST_SECONDS = 10, BLOCKS = 32 };

static volatile sig_atomic_t fork_count, is_child;

static void fork_here(int signal) {
  int saved = errno, status;
  (void)signal;
  pid_t child = fork();
  if (child == 0) {
    is_child = 1;
  } else {
    CHECK(child > 0);
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK_EQ(status, 0);
    fork_count++;
  }
  errno = saved;
}

/* Small, middle, large and huge blocks: some of these calls hold a lock most of their time. */
static void allocate(void **blocks, uint64_t *random) {
  static const size_t sizes[] = {100, 3000, 40000, 300000, 2000000, 40000000};
  void **block = &blocks[random_next(random) % BLOCKS];
  size_t size = sizes[random_next(random) % (sizeof sizes / sizeof *sizes)];
  if (size < 100000 && random_next(random) % 4 == 0) {
    *block = opaque(realloc(*block, size)); /* copies little, so that forks copy little */
  } else {
    free(*block);
    *block = opaque(malloc(size));
  }
  CHECK(*block != NULL);
  *(char *)*block = 1;
}

static void work(void) {
  static void *blocks[BLOCKS];
  uint64_t random = 1;
  struct sigaction action = {.sa_handler = fork_here, .sa_flags = SA_RESTART};
  CHECK_EQ(sigaction(SIGALRM, &action, NULL), 0);
  double end = seconds_now() + MOST_SECONDS;
  while (!is_child && fork_count < FORKS && seconds_now() < end) {
    struct itimerval once = {{0, 0}, {0, 1 + (long)(random_next(&random) % 100)}};
    int before = fork_count;
    CHECK_EQ(setitimer(ITIMER_REAL, &once, NULL), 0);
    while (!is_child && fork_count == before) allocate(blocks, &random);
  }
  if (is_child)
    for (int i = 0; i < 20; i++) allocate(blocks, &random);
  _exit(0);
}

int main(void) {
  pid_t worker = fork();
  if (worker == 0) work();
  int status;
  double end = seconds_now() + MOST_SECONDS + 100;
  while (waitpid(worker, &status, WNOHANG) == 0) {
    if (seconds_now() > end) kill(worker, SIGKILL);
    sleep_ms(10);
  }
  CHECK_EQ(status, 0);
  return 0;
}
