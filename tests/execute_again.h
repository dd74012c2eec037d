/* A test that starts its own program once more: with options, or under limits. */
#ifndef LOAM_TESTS_EXECUTE_AGAIN_H
#define LOAM_TESTS_EXECUTE_AGAIN_H

#include "check.h"

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

#endif
