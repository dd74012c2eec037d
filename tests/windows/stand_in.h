/* Functions of the system's that a test has in the place of kernel32's: the linker finds the address
 * that they are called by here first, for loam, too. Of 64 bit. */
#ifndef LOAM_TESTS_STAND_IN_H
#define LOAM_TESTS_STAND_IN_H

#include "check.h"
#include <loam/loam.h>
#include <process.h>

#define STAND_IN(name, function) \
  __attribute__((used)) const void *const address_of_##name __asm__("__imp_" #name) = \
      (const void *)(function)

/* The function itself. */
static inline void *system_function(const char *name) {
  return (void *)GetProcAddress(GetModuleHandleA("kernel32.dll"), name);
}
#define SYSTEM(name) ((__typeof__(&name))system_function(#name))

/* Whether the process was started as this part of the test. */
static inline int is_part(const char *part) {
  char value[64] = "";
  GetEnvironmentVariableA("TEST_PART", value, sizeof value);
  return strcmp(value, part) == 0;
}

/* Starts the program once more as a part of the test, with options; its status. */
static inline int run_part(const char *part, const char *options) {
  char path[MAX_PATH];
  CHECK(GetModuleFileNameA(NULL, path, sizeof path) < sizeof path);
  CHECK(SetEnvironmentVariableA("TEST_PART", part));
  CHECK(SetEnvironmentVariableA("LOAM_OPTIONS", options));
  return (int)_spawnl(_P_WAIT, path, "again", NULL);
}

#endif
