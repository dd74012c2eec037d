/* What every test program includes: checks that print and end the program, and measurements.
 *
 * Not a unit-test library, on purpose: the checks must not allocate (they run when memory is out,
 * before constructors and in the child of a fork) and must work in any thread, which rules out
 * frameworks that longjmp out of a failed assertion or build their reports on the heap.
 *
 * Nothing here allocates. A failed check prints one line and ends the program with status 1, or as
 * CHECK_FAILED_END says.
 */
#ifndef LOAM_TESTS_CHECK_H
#define LOAM_TESTS_CHECK_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#if defined(_WIN32)
#define WIN32_LEAN_AND_MEAN
#define PSAPI_VERSION 2 /* K32GetProcessMemoryInfo, which kernel32 has */
#include <windows.h>
/* After windows.h, which it needs. */
#include <psapi.h>
#endif

#if defined(__cplusplus)
#define TEST_EXTERN_C extern "C"
#define TEST_NOEXCEPT noexcept
#else
#define TEST_EXTERN_C extern
#define TEST_NOEXCEPT
#endif

#define KIB ((size_t)1024)
#define MIB (KIB * KIB)
/* Bytes that no system has, and in 32 bit more than a block may have. */
#define BEYOND_ALL_MEMORY (SIZE_MAX > UINT32_MAX ? SIZE_MAX / 16 : SIZE_MAX / 16 * 15)
#define TEST_UNUSED __attribute__((unused))
/* Whether loam knows who called whom: by the compiler's tables or by frame pointers. */
#if defined(__x86_64__) || defined(__i386__) || defined(__aarch64__)
#define CALLERS_ARE_KNOWN 1
#else
#define CALLERS_ARE_KNOWN 0
#endif

#if !defined(CHECK_FAILED_END)
#define CHECK_FAILED_END() _exit(1)
#endif

static void check_failed(const char *file, int line, const char *what, long long actual,
                         long long expected) TEST_UNUSED;
static void check_failed(const char *file, int line, const char *what, long long actual,
                         long long expected) {
  char text[512];
  int length = snprintf(text, sizeof text, "%s:%d: check failed: %s (%lld, %lld; errno %d)\n",
                        file, line, what, actual, expected, errno);
  if (length > (int)sizeof text - 1) length = (int)sizeof text - 1;
  if (write(STDERR_FILENO, text, (size_t)length) < 0) _exit(2);
  CHECK_FAILED_END();
}

#define CHECK(condition) \
  ((condition) ? (void)0 : check_failed(__FILE__, __LINE__, #condition, 0, 0))

/* The two values are printed when the comparison does not hold. */
#define CHECK_THAT(left, relation, right)                                                   \
  do {                                                                                      \
    long long check_left = (long long)(left), check_right = (long long)(right);             \
    if (!(check_left relation check_right))                                                 \
      check_failed(__FILE__, __LINE__, #left " " #relation " " #right, check_left,          \
                   check_right);                                                            \
  } while (0)

#define CHECK_EQ(left, right) CHECK_THAT(left, ==, right)

/* ---- Which allocator serves this program ---------------------------------------------------- */

TEST_EXTERN_C const char *loam_version(void) TEST_NOEXCEPT __attribute__((weak));

/* "fast", "checking", "linked" or "static"; when started by hand, "checking" if that is preloaded,
 * or "". */
static inline const char *test_build(void) {
  const char *build = getenv("LOAM_TEST_BUILD"), *preloaded = getenv("LD_PRELOAD");
  if (build != NULL) return build;
  return preloaded != NULL && strstr(preloaded, "libloam-checking") != NULL ? "checking" : "";
}

/* A preload that fails is only a warning of the loader: without this, every test would pass on
 * the C library's malloc. LOAM_TEST_ANY=1 permits other allocators. */
#if !defined(TEST_WITHOUT_LOAM)
__attribute__((constructor)) static void check_that_loam_serves(void) {
  if (getenv("LOAM_TEST_ANY") == NULL) CHECK(loam_version != NULL);
}
#endif

/* ---- Contents ------------------------------------------------------------------------------- */

/* Hides a pointer from the optimiser, which knows what malloc and free mean. */
static inline void *opaque(void *pointer) {
  __asm__ volatile("" : "+r"(pointer) : : "memory");
  return pointer;
}

static inline size_t opaque_size(size_t size) {
  __asm__ volatile("" : "+r"(size));
  return size;
}

static inline unsigned char pattern_byte(size_t offset, unsigned seed) {
  return (unsigned char)((offset * 131 + (offset >> 8) * 17 + seed * 29 + 7) & 0xff);
}

static inline void fill(void *block, size_t from, size_t to, unsigned seed) {
  for (size_t i = from; i < to; i++) ((unsigned char *)block)[i] = pattern_byte(i, seed);
}

static inline void check_filled(const void *block, size_t from, size_t to, unsigned seed) {
  for (size_t i = from; i < to; i++)
    CHECK_EQ(((const unsigned char *)block)[i], pattern_byte(i, seed));
}

static inline void check_zero(const void *block, size_t size) {
  for (size_t i = 0; i < size; i++) CHECK_EQ(((const unsigned char *)block)[i], 0);
}

/* Touches each OS page, so that it counts as resident. */
static inline void touch(void *block, size_t size) {
  for (size_t i = 0; i < size; i += 4096) ((volatile unsigned char *)block)[i] = 1;
}

/* A small random generator (xorshift64*), one state per thread. */
static inline uint64_t random_next(uint64_t *state) {
  uint64_t x = *state;
  x ^= x >> 12, x ^= x << 25, x ^= x >> 27;
  *state = x;
  return x * 2685821657736338717ull;
}

/* ---- Measurements --------------------------------------------------------------------------- */

static inline double seconds_now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* Of processors, for all threads: it goes on however long they wait for one. */
static inline double processor_seconds(void) {
  struct timespec used;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  return (double)used.tv_sec + (double)used.tv_nsec * 1e-9;
}

static inline void sleep_ms(unsigned milliseconds) {
  struct timespec duration = {milliseconds / 1000, (long)(milliseconds % 1000) * 1000000};
  nanosleep(&duration, NULL);
}

/* Bytes of private memory of this process in RAM: what the allocator is answerable for. Pages of
 * files come and go with the page cache and are not counted. smaps_rollup is walked by the kernel
 * and exact, where statm lags by some pages per thread. On Windows what is committed, which under
 * wine is what is in RAM. */
static inline size_t resident_bytes(void) {
#if defined(_WIN32)
  PROCESS_MEMORY_COUNTERS counters;
  CHECK(GetProcessMemoryInfo(GetCurrentProcess(), &counters, sizeof counters));
  return counters.PagefileUsage;
#else
  static char text[8192];
  int file = open("/proc/self/smaps_rollup", O_RDONLY);
  CHECK(file >= 0);
  ssize_t length = read(file, text, sizeof text - 1);
  close(file);
  CHECK(length > 0);
  text[length] = '\0';
  const char *field = strstr(text, "\nAnonymous:");
  CHECK(field != NULL);
  return (size_t)strtoull(field + strlen("\nAnonymous:"), NULL, 10) * KIB;
#endif
}

#endif
