/* What the program has, beside the allocator: address, size and contents of each block. */
#ifndef LOAM_FUZZ_SHADOW_H
#define LOAM_FUZZ_SHADOW_H

#include "../tests/check.h"

#include <stdbool.h>

/* How a block may be given back besides free. */
enum origin { FROM_MALLOC, FROM_ALIGNED_ALLOC, FROM_OTHERS };

enum { NO_HEAP = -1 };

struct block {
  unsigned char *address;
  size_t size, usable, filled; /* requested; what the allocator says; how much is written */
  size_t alignment;
  uint64_t seed;
  int heap; /* index of the first-class heap that has it, or NO_HEAP */
  enum origin origin;
};

/* ---- Contents ---- */

/* Blocks up to that size are written and compared as a whole, larger ones at both ends and in some
 * places between. */
enum { WHOLE_BYTES = 32 * 1024, EDGE_BYTES = 4096, PLACES = 20, PLACE_BYTES = 64 };

static uint64_t word_at(uint64_t seed, size_t offset) {
  return (seed + offset) * 0x9e3779b97f4a7c15ull ^ seed >> 7;
}

static void write_words(const struct block *b, size_t from, size_t to) {
  for (; from < to; from += 8) {
    uint64_t word = word_at(b->seed, from);
    memcpy(b->address + from, &word, to - from < 8 ? to - from : 8);
  }
}

static void compare_words(const struct block *b, size_t from, size_t to) {
  for (; from < to; from += 8) {
    uint64_t word = word_at(b->seed, from);
    CHECK_EQ(memcmp(b->address + from, &word, to - from < 8 ? to - from : 8), 0);
  }
}

/* Calls `each` for the parts of the block below `limit` that are written. */
static void for_each_part(const struct block *b, size_t limit,
                          void (*each)(const struct block *b, size_t from, size_t to)) {
  size_t edge = b->filled <= WHOLE_BYTES ? b->filled : EDGE_BYTES;
  each(b, 0, edge < limit ? edge : limit);
  if (edge == b->filled) return;
  size_t step = (b->filled / PLACES + 7) & ~(size_t)7;
  for (size_t at = step; at + PLACE_BYTES <= limit; at += step) each(b, at, at + PLACE_BYTES);
  if (limit == b->filled) each(b, (limit - EDGE_BYTES) & ~(size_t)7, limit);
}

static void shadow_write(struct block *b, size_t filled) {
  b->filled = filled;
  for_each_part(b, filled, write_words);
}

/* `limit`: how much of what was written must be there still. */
static void shadow_compare(const struct block *b, size_t limit) {
  for_each_part(b, limit < b->filled ? limit : b->filled, compare_words);
}

static void check_all_zero(const unsigned char *at, size_t size) {
  enum { SAMPLED_FROM = 256 * 1024, SAMPLES = 64 };
  if (size > SAMPLED_FROM) {
    for (size_t i = 0; i < SAMPLES; i++) check_all_zero(at + size / SAMPLES * i, EDGE_BYTES);
    check_all_zero(at + size - EDGE_BYTES, EDGE_BYTES);
  } else if (size > 0) {
    CHECK_EQ(at[0], 0);
    CHECK_EQ(memcmp(at, at + 1, size - 1), 0);
  }
}

/* ---- All of them ---- */

enum { BLOCKS_MAX = 20000 };
static struct block blocks[BLOCKS_MAX];
static size_t block_count, block_bytes;

static void shadow_add(const struct block *b) {
  CHECK(block_count < BLOCKS_MAX);
  blocks[block_count++] = *b;
  block_bytes += b->size;
}

static void shadow_remove(struct block *b) {
  block_bytes -= b->size;
  *b = blocks[--block_count];
}

static int by_address(const void *left, const void *right) {
  const struct block *l = left, *r = right;
  return l->address < r->address ? -1 : l->address > r->address;
}

/* Nothing is lost, and no two blocks have a byte in common. */
static void shadow_check(void) {
  qsort(blocks, block_count, sizeof *blocks, by_address);
  for (size_t i = 0; i < block_count; i++) {
    shadow_compare(&blocks[i], SIZE_MAX);
    if (i > 0) CHECK_THAT(blocks[i].address - blocks[i - 1].address, >=, blocks[i - 1].usable);
  }
}

#endif
