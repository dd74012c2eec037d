#include "api/guarded.h"

#include <string.h>

#include "base/bits.h"
#include "os/misuse.h"
#include "os/os.h"
#include "sizeclass/sizeclass.h"

/* So many blocks are guarded, in so many calls. */
#define SMALL_COUNT 160
#define RUN_COUNT 6
#define CALL_COUNT 400

#define BEHIND_BYTES 16
#define END_PATTERN 0xa5
#define FREE_PATTERN 0xdf

/* Before each block. */
struct guard {
  _Atomic(uint32_t) state; /* written by whoever takes or frees the block */
  uint32_t size;
  uint64_t seal; /* of the block's address; up to the block, so that no byte before it is spared */
};
_Static_assert(sizeof(struct guard) == LM_GRANULE_BYTES, "blocks are aligned");
enum { NO_BLOCK, LIVE = 0x10ca1, FREE = 0x0ff };

char lm_guarded_arena[LM_GUARDED_ARENA_BYTES] __attribute__((aligned(LM_CACHE_LINE_BYTES)));
_Atomic(uint32_t) lm_guarded_calls_left = LM_CHECKING || LM_FAKE_OS ? 0 : CALL_COUNT;
/* Written by any thread; a few blocks more are taken if threads are at it together. */
static _Atomic(uint32_t) small_left = SMALL_COUNT, runs_left = RUN_COUNT;
static _Atomic(uint32_t) used_bytes; /* of the arena; any thread */
/* Bit i: a block begins at granule i. Set by who takes it, releasing the block's guard to who
 * inspects all of them. */
static _Atomic(uint64_t) starts[LM_GUARDED_ARENA_BYTES / LM_GRANULE_BYTES / 64];

static struct guard *guard_of(const void *block) {
  return (struct guard *)((uintptr_t)block - sizeof(struct guard));
}

static uint64_t seal_of(const void *block) {
  return (uint64_t)(uintptr_t)block * 0x9e3779b1u ^ 0x5ea1ed;
}

static size_t guarded_bytes(size_t size) {
  return sizeof(struct guard) + lm_align_up(size, LM_GRANULE_BYTES) + BEHIND_BYTES;
}

/* A program's first blocks are often what its threads share for ever: they should not lie on more
 * lines than they must. */
static size_t alignment_of(size_t size) {
  return size < LM_CACHE_LINE_BYTES ? LM_GRANULE_BYTES : LM_CACHE_LINE_BYTES;
}

static char *end_of(const struct guard *guard) {
  return (char *)guard + guarded_bytes(guard->size);
}

static bool count_down(_Atomic(uint32_t) *count) {
  uint32_t left = lm_load_relaxed(count);
  if (left != 0) lm_store_relaxed(count, left - 1);
  return left != 0;
}

/* The same, but that what another thread has stored meanwhile stays: one of many calls, no loop. */
static void count_call(void) {
  uint32_t left = lm_load_relaxed(&lm_guarded_calls_left);
  if (left != 0 && left <= LM_GUARDED_COUNT_MAX)
    lm_cas_acquire(&lm_guarded_calls_left, &left, left - 1);
}

/* ---- Small blocks ---- */

void *lm_guarded_take(size_t size) {
  count_call();
  if (size > LM_GUARDED_MAX_BYTES || !count_down(&small_left)) return NULL;
  size_t alignment = alignment_of(size);
  size_t bytes = guarded_bytes(size) + alignment - LM_GRANULE_BYTES;
  size_t offset = lm_add_relaxed(&used_bytes, (uint32_t)bytes);
  if (offset + bytes > LM_GUARDED_ARENA_BYTES) {
    lm_store_relaxed(&small_left, 0);
    return NULL;
  }
  char *block = lm_guarded_arena + lm_align_up(offset + sizeof(struct guard), alignment);
  struct guard *guard = guard_of(block);
  guard->size = (uint32_t)size;
  guard->seal = seal_of(block);
  memset(block + size, END_PATTERN, (size_t)(end_of(guard) - block) - size);
  lm_store_relaxed(&guard->state, LIVE);
  size_t granule = (size_t)(block - lm_guarded_arena) / LM_GRANULE_BYTES;
  lm_or_release(&starts[granule / 64], (uint64_t)1 << granule % 64);
  return block;
}

/* NULL if no block begins at `address`. */
static struct guard *find_guard(const void *address) {
  size_t offset = (size_t)((const char *)address - lm_guarded_arena);
  size_t granule = offset / LM_GRANULE_BYTES;
  bool starts_here = offset % LM_GRANULE_BYTES == 0 &&
                     (lm_load_relaxed(&starts[granule / 64]) >> granule % 64 & 1) != 0;
  return starts_here ? guard_of(address) : NULL;
}

/* Whether that is what all bytes are: word by word, and then the last ones. */
static bool is_filled(const char *bytes, size_t count, unsigned char pattern) {
  const uint64_t wanted = pattern * (~(uint64_t)0 / 255);
  size_t i = 0;
  for (uint64_t word; i + sizeof word <= count; i += sizeof word) {
    memcpy(&word, bytes + i, sizeof word);
    if (word != wanted) return false;
  }
  for (; i < count; i++)
    if ((unsigned char)bytes[i] != pattern) return false;
  return true;
}

bool lm_guarded_starts(const void *address) { return find_guard(address) != NULL; }

static void check_guards(const struct guard *guard) {
  const char *block = (const char *)(guard + 1);
  uint32_t state = lm_load_relaxed(&guard->state);
  if (guard->seal != seal_of(block) || (state != LIVE && state != FREE) ||
      guard->size > LM_GUARDED_MAX_BYTES)
    lm_misuse_write_before_start(block);
  const char *end = block + guard->size;
  if (!is_filled(end, (size_t)(end_of(guard) - end), END_PATTERN))
    lm_misuse_write_past_end(block, guard->size);
}

static void inspect_small(const struct guard *guard) {
  const char *block = (const char *)(guard + 1);
  uint32_t state = lm_load_acquire(&guard->state);
  check_guards(guard);
  if (state == FREE && !is_filled(block, guard->size, FREE_PATTERN))
    lm_misuse_write_after_free(block);
}

void lm_guarded_inspect(void) {
  for (size_t i = 0; i < sizeof starts / sizeof starts[0]; i++) {
    uint64_t left = lm_load_acquire(&starts[i]);
    for (; left != 0; left &= left - 1) {
      size_t granule = i * 64 + (size_t)__builtin_ctzll(left);
      inspect_small(guard_of(lm_guarded_arena + granule * LM_GRANULE_BYTES));
    }
  }
}

/* ---- Larger ones ---- */

#define RUN_BEFORE_BYTES 64 /* of the page before, with the guard; the others are not touched */

static size_t run_pages(const void *block) {
  return lm_load_relaxed(lm_region_block_entry(block)) & ~LM_BLOCK_GUARDED;
}

/* What stands behind a run's block in its last page, some of it. */
static char *behind_run(const struct guard *guard) {
  char *block = (char *)(guard + 1), *end = block + (run_pages(block) << lm_os.page_shift);
  char *enough = block + guard->size + RUN_BEFORE_BYTES;
  return enough < end ? enough : end;
}

size_t lm_guarded_run_bytes(size_t size) {
  bool fits = size > lm_classed_max_bytes && size <= LM_GUARDED_RUN_MAX_BYTES;
  return fits && lm_load_relaxed(&runs_left) != 0 ? size + lm_os.page_bytes : 0;
}

void *lm_guarded_make_run(void *address, size_t size) {
  size_t page_count = lm_region_holds((uintptr_t)address) ? lm_region_live_pages(address) : 0;
  if (page_count < 2) return address;
  count_down(&runs_left);
  char *block = (char *)address + lm_os.page_bytes;
  struct guard *guard = guard_of(block);
  memset(block - RUN_BEFORE_BYTES, END_PATTERN, RUN_BEFORE_BYTES);
  guard->size = (uint32_t)size;
  guard->seal = seal_of(block);
  lm_store_relaxed(&guard->state, LIVE);
  lm_region_set_block_pages(address, 0);
  lm_region_set_block_pages(block, (page_count - 1) | LM_BLOCK_GUARDED);
  memset(block + size, END_PATTERN, (size_t)(behind_run(guard) - block) - size);
  return block;
}

static void check_run(const struct guard *guard) {
  const char *block = (const char *)(guard + 1);
  size_t bytes = run_pages(block) << lm_os.page_shift;
  bool whole = guard->seal == seal_of(block) && lm_load_relaxed(&guard->state) == LIVE &&
               guard->size <= bytes &&
               is_filled(block - RUN_BEFORE_BYTES, RUN_BEFORE_BYTES - sizeof *guard, END_PATTERN);
  if (!whole) lm_misuse_write_before_start(block);
  const char *end = block + guard->size;
  if (!is_filled(end, (size_t)(behind_run(guard) - end), END_PATTERN))
    lm_misuse_write_past_end(block, guard->size);
}

static void *end_run(void *block) {
  char *address = (char *)block - lm_os.page_bytes;
  size_t page_count = run_pages(block);
  check_run(guard_of(block));
  lm_region_set_block_pages(block, 0);
  lm_region_set_block_pages(address, page_count + 1);
  return address;
}

/* ---- Both ---- */

size_t lm_guarded_size(const void *address, const char *call, void *caller) {
  if (lm_sampled_holds(address)) return lm_sampled_size(address, call, caller);
  if (lm_sizeless_holds(address)) {
    lm_sizeless_look(address, call, caller);
    return 0;
  }
  if (!lm_guarded_is_in_arena(address)) {
    check_run(guard_of(address));
    return guard_of(address)->size;
  }
  const struct guard *guard = find_guard(address);
  if (guard == NULL || lm_load_relaxed(&guard->state) == FREE)
    lm_misuse_not_a_start(address, call, caller);
  check_guards(guard);
  return guard->size;
}

void lm_guarded_shorten(void *block, size_t size) {
  if (lm_sampled_holds(block)) {
    lm_sampled_shorten(block, size);
    return;
  }
  struct guard *guard = guard_of(block);
  guard->size = (uint32_t)size;
  char *end = lm_guarded_is_in_arena(block) ? end_of(guard) : behind_run(guard);
  memset((char *)block + size, END_PATTERN, (size_t)(end - (char *)block) - size);
}

void *lm_guarded_end(void *address, void *caller) {
  if (lm_sampled_holds(address)) {
    lm_sampled_end(address, caller);
    return NULL;
  }
  if (lm_sizeless_holds(address)) {
    lm_sizeless_end(address, caller);
    return NULL;
  }
  if (!lm_guarded_is_in_arena(address)) return end_run(address);
  struct guard *guard = find_guard(address);
  if (guard == NULL) lm_misuse_not_a_start(address, "free", caller);
  check_guards(guard);
  uint32_t live = LIVE;
  if (lm_load_relaxed(&guard->state) == LIVE) memset(address, FREE_PATTERN, guard->size);
  if (!lm_cas_release(&guard->state, &live, FREE)) lm_misuse_double_free(address, caller);
  return NULL;
}
