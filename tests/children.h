/* Parts of a test in processes of their own: each with a fresh heap. */
#ifndef LOAM_TESTS_CHILDREN_H
#define LOAM_TESTS_CHILDREN_H

#include "check.h"

#include <sys/wait.h>

static inline pid_t start_child(void (*run)(size_t index), size_t index) {
  pid_t child = fork();
  CHECK(child >= 0);
  if (child != 0) return child;
  run(index);
  _exit(0);
}

static inline void check_child(pid_t child) {
  int status;
  CHECK_EQ(waitpid(child, &status, 0), child);
  CHECK_EQ(status, 0);
}

static inline void run_one_by_one(void (*run)(size_t index), size_t count) {
  for (size_t i = 0; i < count; i++) check_child(start_child(run, i));
}

#define CHILDREN_MOST 16
static inline void run_side_by_side(void (*run)(size_t index), size_t count) {
  pid_t children[CHILDREN_MOST];
  CHECK_THAT(count, <=, CHILDREN_MOST);
  for (size_t i = 0; i < count; i++) children[i] = start_child(run, i);
  for (size_t i = 0; i < count; i++) check_child(children[i]);
}

#endif
