/* A test that starts its own program once more: with options, or under limits. */
#ifndef LOAM_TESTS_EXECUTE_AGAIN_H
#define LOAM_TESTS_EXECUTE_AGAIN_H

#include "check.h"

/* What a test ends with that cannot be here. */
#define CANNOT 77

#if defined(_WIN32)
#include <process.h>

/* What `prepare` prepares is this process's own, too. */
static inline int run_again(int (*prepare)(void), const char *name, const char *first) {
  char path[MAX_PATH];
  if (prepare != NULL && !prepare()) return CANNOT;
  CHECK(GetModuleFileNameA(NULL, path, sizeof path) < sizeof path);
  intptr_t status = _spawnl(_P_WAIT, path, name, first, NULL);
  if (status != CANNOT) CHECK_EQ(status, 0);
  return (int)status;
}

#else
#include <sys/wait.h>

/* As execl of the program's file, with one or two arguments. LOAM_TEST_EMULATOR names what emulates
 * this processor and does not start other programs by itself. */
static inline void execute_again(const char *name, const char *first, const char *second) {
  static char path[4096], preload[4096];
  const char *emulator = getenv("LOAM_TEST_EMULATOR"), *libraries = getenv("LD_PRELOAD");
  if (emulator == NULL) {
    execl("/proc/self/exe", name, first, second, (char *)NULL);
    return;
  }
  CHECK(readlink("/proc/self/exe", path, sizeof path - 1) > 0);
  snprintf(preload, sizeof preload, "LD_PRELOAD=%s", libraries != NULL ? libraries : "");
  unsetenv("LD_PRELOAD"); /* which is not the emulator's own */
  execlp(emulator, emulator, "-E", preload, "-0", name, path, first, second, (char *)NULL);
}

/* The same in a child, once that has prepared itself, if there is anything to prepare: CANNOT if it
 * cannot, or if what it has started says so; else that has to end well. */
static inline int run_again(int (*prepare)(void), const char *name, const char *first) {
  int status;
  pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    if (prepare != NULL && !prepare()) _exit(CANNOT);
    execute_again(name, first, NULL);
    _exit(2);
  }
  CHECK_EQ(waitpid(child, &status, 0), child);
  if (WIFEXITED(status) && WEXITSTATUS(status) == CANNOT) return CANNOT;
  CHECK_EQ(status, 0);
  return 0;
}
#endif

#endif
