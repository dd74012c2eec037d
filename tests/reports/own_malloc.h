/* A malloc of a program's own: an arena that only grows, and knows its own blocks. */
#ifndef LOAM_TESTS_OWN_MALLOC_H
#define LOAM_TESTS_OWN_MALLOC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define OWN_BYTES ((size_t)256 << 20)
static char own_arena[OWN_BYTES] __attribute__((aligned(4096)));
static size_t own_used;
static int own_foreign; /* blocks of others that were given back */

static bool own_has(const void *block) {
  uintptr_t at = (uintptr_t)block - (uintptr_t)own_arena;
  return at < OWN_BYTES;
}

static void *own_take(size_t alignment, size_t size) {
  if (alignment < 16) alignment = 16;
  size_t start = __atomic_fetch_add(&own_used, size + alignment + 32, __ATOMIC_SEQ_CST);
  uintptr_t at = ((uintptr_t)own_arena + start + 16 + alignment - 1) & ~(uintptr_t)(alignment - 1);
  ((size_t *)at)[-1] = size;
  return (void *)at;
}

static size_t own_size(const void *block) { return ((const size_t *)block)[-1]; }

static void own_give(void *block) {
  if (block != NULL && !own_has(block)) own_foreign++;
}

static void *own_resize(void *block, size_t size) {
  if (block != NULL && !own_has(block)) {
    own_foreign++;
    return block;
  }
  void *other = own_take(16, size);
  if (block != NULL) {
    size_t before = own_size(block);
    memcpy(other, block, before < size ? before : size);
  }
  return other;
}

#endif
