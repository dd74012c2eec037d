/* Parts of a test in processes of their own: each with a fresh heap. */
#ifndef LOAM_TESTS_CHILDREN_H
#define LOAM_TESTS_CHILDREN_H

#include "check.h"

#if defined(_WIN32)
#include <process.h>

/* The program starts itself once more, with the part's number, and comes here again. */
typedef intptr_t child_process;
static inline child_process start_child(void (*run)(size_t index), size_t index) {
  char path[MAX_PATH], number[24];
  (void)run;
  CHECK(GetModuleFileNameA(NULL, path, sizeof path) < sizeof path);
  snprintf(number, sizeof number, "%u", (unsigned)index);
  child_process child = _spawnl(_P_NOWAIT, path, "part", number, NULL);
  CHECK(child != -1);
  return child;
}

static inline void check_child(child_process child) {
  int status;
  CHECK_EQ(_cwait(&status, child, 0), child);
  CHECK_EQ(status, 0);
}

static inline void be_child_if_asked(void (*run)(size_t index)) {
  if (strcmp(__argv[0], "part") != 0) return;
  run((size_t)atoi(__argv[1]));
  exit(0);
}

#else
#include <sys/wait.h>

typedef pid_t child_process;
static inline child_process start_child(void (*run)(size_t index), size_t index) {
  pid_t child = fork();
  CHECK(child >= 0);
  if (child != 0) return child;
  run(index);
  _exit(0);
}

static inline void check_child(child_process child) {
  int status;
  CHECK_EQ(waitpid(child, &status, 0), child);
  CHECK_EQ(status, 0);
}

static inline void be_child_if_asked(void (*run)(size_t index)) { (void)run; }
#endif

static inline void run_one_by_one(void (*run)(size_t index), size_t count) {
  be_child_if_asked(run);
  for (size_t i = 0; i < count; i++) check_child(start_child(run, i));
}

#define CHILDREN_MOST 16
static inline void run_side_by_side(void (*run)(size_t index), size_t count) {
  child_process children[CHILDREN_MOST];
  be_child_if_asked(run);
  CHECK_THAT(count, <=, CHILDREN_MOST);
  for (size_t i = 0; i < count; i++) children[i] = start_child(run, i);
  for (size_t i = 0; i < count; i++) check_child(children[i]);
}

#endif
