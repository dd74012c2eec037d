/* What a profile's file says. Read with the system's calls only: reading takes no block. */
#ifndef LOAM_TESTS_PROFILE_FILE_H
#define LOAM_TESTS_PROFILE_FILE_H

#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check.h"

struct sums {
  double taken_count, taken_bytes, live_count, live_bytes, peak_count, peak_bytes;
};

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
  CHECK(length > 4 && strcmp(profile_text + length - 4, "end\n") == 0);
}

/* The sum of all sites that were called from the address, at any distance. */
static inline struct sums sums_from(const void *caller) {
  struct sums sums = {0, 0, 0, 0, 0, 0};
  char wanted[32];
  snprintf(wanted, sizeof wanted, " 0x%lx", (unsigned long)(uintptr_t)caller);
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

#endif
