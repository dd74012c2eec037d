/* Runs a fuzzer: under libFuzzer, which calls LLVMFuzzerTestOneInput; or, without
 * FUZZ_WITH_LIBFUZZER, as a program of its own that makes inputs from seeds, each in a process of its own.
 *
 *     PROGRAM [SECONDS [FIRST_SEED]]    inputs for so long; what fails is named by its seed
 *     PROGRAM seed SEED                 that one, in this process, and tells what it does
 *     PROGRAM file PATH                 an input of libFuzzer's, the same way */
#ifndef LOAM_FUZZ_DRIVE_H
#define LOAM_FUZZ_DRIVE_H

#include "../tests/check.h"

#include <stdarg.h>
#include <stdbool.h>
#include <sys/wait.h>

/* What a fuzzer defines. */
void fuzz_one(const uint8_t *bytes, size_t size);

/* Whether an input has the process for itself, so that it may change it for good. */
#if defined(FUZZ_WITH_LIBFUZZER)
static const bool drive_owns_process = false;
#else
static const bool drive_owns_process = true;
#endif

static bool drive_tells;

__attribute__((format(printf, 1, 2))) static inline void drive_tell(const char *format, ...) {
  if (!drive_tells) return;
  va_list arguments;
  va_start(arguments, format);
  vfprintf(stderr, format, arguments);
  va_end(arguments);
  fputc('\n', stderr);
}

#if defined(FUZZ_WITH_LIBFUZZER)

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
  fuzz_one(bytes, size);
  return 0;
}

#else

enum { DRIVE_BYTES_MAX = 4096, DRIVE_TIMEOUT_SECONDS = 200 };

static inline void drive_seed(uint64_t seed) {
  static uint8_t bytes[DRIVE_BYTES_MAX];
  uint64_t random = seed * 0x9e3779b97f4a7c15ull + 1;
  size_t size = (size_t)64 << random_next(&random) % 7;
  for (size_t i = 0; i < size; i++) bytes[i] = (uint8_t)(random_next(&random) >> 32);
  fuzz_one(bytes, size);
}

static inline void drive_file(const char *path) {
  static uint8_t bytes[1 << 20];
  FILE *file = fopen(path, "rb");
  CHECK(file != NULL);
  size_t size = fread(bytes, 1, sizeof bytes, file);
  fclose(file);
  fuzz_one(bytes, size);
}

static inline bool drive_in_child(uint64_t seed) {
  int status;
  pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    alarm(DRIVE_TIMEOUT_SECONDS);
    drive_seed(seed);
    _exit(0);
  }
  CHECK_EQ(waitpid(child, &status, 0), child);
  if (status != 0) printf("FAIL: seed %llu, status %#x\n", (unsigned long long)seed, status);
  fflush(stdout);
  return status == 0;
}

int main(int count, char **arguments) {
  if (count > 2 && (arguments[1][0] == 's' || arguments[1][0] == 'f')) {
    drive_tells = true;
    if (arguments[1][0] == 's') drive_seed(strtoull(arguments[2], NULL, 10));
    else drive_file(arguments[2]);
    return 0;
  }
  double end = seconds_now() + (count > 1 ? atof(arguments[1]) : 3);
  uint64_t first = count > 2 ? strtoull(arguments[2], NULL, 10) : 1, seed = first;
  unsigned failed = 0;
  for (; seed == first || seconds_now() < end; seed++) failed += !drive_in_child(seed);
  printf("%llu inputs, %u failed\n", (unsigned long long)(seed - first), failed);
  return failed == 0 ? 0 : 1;
}

#endif
#endif
