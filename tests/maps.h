/* How many mappings the process has. */
#ifndef LOAM_TESTS_MAPS_H
#define LOAM_TESTS_MAPS_H

#include "check.h"

#include <fcntl.h>
#include <unistd.h>

/* Without stdio, which would call malloc. Linux. */
static inline size_t count_maps(void) {
  char text[4096];
  size_t count = 0;
  int file = open("/proc/self/maps", O_RDONLY);
  CHECK(file >= 0);
  for (ssize_t length; (length = read(file, text, sizeof text)) > 0;)
    for (ssize_t i = 0; i < length; i++) count += text[i] == '\n';
  close(file);
  return count;
}

#endif
