/* What misuse programs share. Each prints the address that loam is to report, then commits its
 * one crime; see expect.py for the header lines. */
#ifndef LOAM_TESTS_MISUSE_CRIME_H
#define LOAM_TESTS_MISUSE_CRIME_H

#include "../names.h"
#include <inttypes.h>

/* Prints the address as loam writes it, without allocating. */
static inline void *announce(void *address) {
  char text[32];
  int length = snprintf(text, sizeof text, "0x%" PRIxPTR "\n", (uintptr_t)address);
  if (write(STDOUT_FILENO, text, (size_t)length) != length) _exit(2);
  return opaque(address);
}

#endif
