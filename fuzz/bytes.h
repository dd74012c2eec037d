/* The input of a fuzzer, taken byte by byte. After its end come zeros. */
#ifndef LOAM_FUZZ_BYTES_H
#define LOAM_FUZZ_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fuzz_bytes {
  const uint8_t *next;
  size_t left;
};

static inline unsigned take_byte(struct fuzz_bytes *bytes) {
  if (bytes->left == 0) return 0;
  bytes->left--;
  return *bytes->next++;
}

static inline unsigned take_word(struct fuzz_bytes *bytes) {
  unsigned high = take_byte(bytes);
  return high << 8 | take_byte(bytes);
}

static inline bool take_chance(struct fuzz_bytes *bytes, unsigned of_256) {
  return take_byte(bytes) < of_256;
}

#endif
