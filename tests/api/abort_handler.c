// builds: fast checking hardened linked
/* A handler of SIGABRT that allocates, frees and forks, after misuse was found in whatever way: it
 * gets what it asks for, or the program ends by SIGABRT. It never hangs. */
#include "check.h"

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { DONE = 17, MANY = 3000, LIMIT_SECONDS = 20 };

static void handle(int signal) {
  (void)signal;
  char *blocks[64];
  for (size_t size = 16; size <= 1 << 21; size *= 2) {
    for (int i = 0; i < 64; i++) blocks[i] = opaque(malloc(size));
    for (int i = 0; i < 64; i++) {
      if (blocks[i] == NULL) continue;
      memset(blocks[i], 1, size);
      free(blocks[i]);
    }
  }
  pid_t child = fork();
  if (child == 0) {
    free(opaque(malloc(100)));
    _exit(0);
  }
  int status;
  if (child > 0) waitpid(child, &status, 0);
  _exit(DONE);
}

/* ---- What is wrong ---- */

static char *many[MANY];

static void take_many(size_t size) {
  for (int i = 0; i < MANY; i++) many[i] = memset(opaque(malloc(size)), 1, size);
}
static void free_many(void) {
  for (int i = 0; i < MANY; i++) free(many[i]);
}

static void twice_at_once(void) {
  take_many(100);
  free(opaque(many[7]));
  free(opaque(many[7]));
}
static void twice_found_in_a_span(void) {
  take_many(100);
  for (int round = 0; round < 2; round++)
    for (int i = 0; i < MANY; i += 2) free(opaque(many[i]));
}
static void within_a_block(void) {
  take_many(240);
  for (int i = 0; i < MANY; i++) free(opaque(many[i] + 16));
}
static void written_after_free(void) {
  take_many(500);
  free_many();
  for (int i = 0; i < MANY; i++) memset(opaque(many[i]), 0x41, 500);
  take_many(500);
}
static void written_past_the_end(void) {
  take_many(104);
  for (int i = 0; i < MANY; i++) memset(opaque(many[i]) + 104, 0x41, 8);
  free_many();
}
static void large_twice(void) {
  char *block = opaque(malloc(1 << 20));
  free(opaque(block));
  free(opaque(block));
}
static void huge_twice(void) {
  char *block = opaque(malloc(64 << 20));
  free(opaque(block));
  free(opaque(block));
}
static void middle_twice(void) {
  take_many(50000);
  free_many();
  free_many();
}
static void no_block(void) {
  int place = 0;
  take_many(100);
  free(opaque(&place));
}
static void *in_a_thread(void *commit) {
  ((void (*)(void))(uintptr_t)commit)();
  return NULL;
}

static void (*const crimes[])(void) = {
    twice_at_once,        twice_found_in_a_span, within_a_block, written_after_free,
    written_past_the_end, large_twice,           huge_twice,     middle_twice,
    no_block,
};
#define CRIMES (sizeof crimes / sizeof *crimes)

static void commit(size_t number, bool by_thread) {
  signal(SIGABRT, handle);
  pthread_t thread;
  if (!by_thread) crimes[number]();
  else if (pthread_create(&thread, NULL, in_a_thread, (void *)(uintptr_t)crimes[number]) == 0)
    pthread_join(thread, NULL);
  exit(0);
}

/* How the child has ended. */
static int wait_for(pid_t child) {
  int status;
  for (int i = 0; i < LIMIT_SECONDS * 100; i++) {
    if (waitpid(child, &status, WNOHANG) == child) return status;
    nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
  }
  kill(child, SIGKILL);
  waitpid(child, &status, 0);
  CHECK(!"the handler hangs");
  return status;
}

int main(void) {
  size_t done = 0;
  close(2); /* of all the lines */
  for (size_t i = 0; i < 2 * CRIMES; i++) {
    pid_t child = fork();
    if (child == 0) commit(i % CRIMES, i >= CRIMES);
    int status = wait_for(child);
    bool ended = WIFSIGNALED(status) && WTERMSIG(status) != SIGKILL;
    bool passed = WIFEXITED(status) && WEXITSTATUS(status) == 0; /* this build does not find it */
    bool handled = WIFEXITED(status) && WEXITSTATUS(status) == DONE;
    CHECK(ended || passed || handled);
    if (getenv("TEST_SHOW") != NULL) printf("%zu: %s\n", i, ended ? "ended" : handled ? "handled" : "passed");
    done += handled;
  }
  CHECK_THAT(done, >, 4);
  return 0;
}
