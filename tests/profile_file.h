/* What a profile's file says. Read with the system's calls only: reading takes no block. */
#ifndef LOAM_TESTS_PROFILE_FILE_H
#define LOAM_TESTS_PROFILE_FILE_H

#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check.h"

struct sums {
  double taken_count, taken_bytes, live_count, live_bytes, peak_count, peak_bytes;
};

/* Whether the last line is `end` and the checksum of all before it: FNV-1a of 64 bits. */
static inline bool is_whole_profile(const char *text, size_t length) {
  uint64_t checksum = UINT64_C(0xcbf29ce484222325), said;
  size_t end = length > 0 ? length - 1 : 0;
  while (end > 0 && text[end - 1] != '\n') end--;
  for (size_t i = 0; i < end; i++)
    checksum = (checksum ^ (unsigned char)text[i]) * UINT64_C(0x100000001b3);
  return sscanf(text + end, "end %" SCNu64 "\n", &said) == 1 && said == checksum;
}

static char profile_text[1 << 22];

static inline void read_profile(const char *path) {
  int fd = open(path, O_RDONLY);
  CHECK(fd >= 0);
  ssize_t length = 0, count;
  while ((count = read(fd, profile_text + length, sizeof profile_text - 1 - (size_t)length)) > 0)
    length += count;
  profile_text[length] = 0;
  close(fd);
  CHECK(strncmp(profile_text, "loam-profile 1\n", 15) == 0);
  CHECK(is_whole_profile(profile_text, (size_t)length));
}

/* The sum of all sites in whose line `wanted` is. */
static inline struct sums sums_with(const char *wanted) {
  struct sums sums = {0, 0, 0, 0, 0, 0};
  for (const char *line = profile_text; line != NULL && *line != 0;) {
    const char *end = strchr(line, '\n'), *found = strstr(line, wanted);
    unsigned long number;
    struct sums one;
    if (strncmp(line, "site ", 5) == 0 && found != NULL && found < end &&
        sscanf(line, "site %lu %lf %lf %lf %lf %lf %lf", &number, &one.taken_count,
               &one.taken_bytes, &one.live_count, &one.live_bytes, &one.peak_count,
               &one.peak_bytes) == 7) {
      sums.taken_count += one.taken_count, sums.taken_bytes += one.taken_bytes;
      sums.live_count += one.live_count, sums.live_bytes += one.live_bytes;
      sums.peak_count += one.peak_count, sums.peak_bytes += one.peak_bytes;
    }
    line = end + 1;
  }
  return sums;
}

/* Of those that were called from the address, at any distance. */
static inline struct sums sums_from(const void *caller) {
  char wanted[32];
  snprintf(wanted, sizeof wanted, " 0x%lx", (unsigned long)(uintptr_t)caller);
  return sums_with(wanted);
}

#endif
