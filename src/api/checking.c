#include "api/checking.h"

#if LM_CHECKING

#include <errno.h>
#include <string.h>

#include "large/huge.h"
#include "large/large.h"
#include "large/owned.h"
#include "os/lock.h"
#include "os/misuse.h"
#include "os/os.h"

/* Behind the requested bytes: END_PATTERN up to the last word of the block, which holds the size,
 * scrambled. */
#define TRAILER_BYTES LM_CHECKED_TRAILER_BYTES
#define END_PATTERN 0xa5
#define FREE_PATTERN 0xdf

/* Freed blocks that have not gone back yet, oldest first. */
#define QUARANTINE_BLOCKS 256
#define QUARANTINE_MAX_BYTES 4096 /* of one block; larger ones go back at once */
struct held_block {
  unsigned char *address;
  size_t bytes;
};
struct lm_lock lm_quarantine_lock = LM_LOCK_INIT(LM_RANK_QUARANTINE);
static struct held_block quarantine[QUARANTINE_BLOCKS]; /* these three under the lock */
static size_t quarantine_first, quarantine_count;

/* ---- Which blocks the program has ---- */

static _Atomic(uint64_t) *live_word(const void *block, uint64_t *bit) {
  size_t granule = lm_region_offset(block) / LM_GRANULE_BYTES;
  *bit = (uint64_t)1 << (granule % 64);
  return &lm_region_of(block)->live_granules[granule / 64];
}

static void set_live(const void *block) {
  uint64_t bit;
  if (!lm_region_holds((uintptr_t)block)) return; /* huge: has a table of its own */
  _Atomic(uint64_t) *word = live_word(block, &bit);
  lm_or_relaxed(word, bit);
}

/* Whether the program has the block; with `end`, it does no longer. */
static bool is_live(const void *block, bool end) {
  uint64_t bit;
  if (!lm_region_holds((uintptr_t)block)) return lm_huge_usable_bytes(block) != 0;
  if ((uintptr_t)block % LM_GRANULE_BYTES != 0) return false;
  _Atomic(uint64_t) *word = live_word(block, &bit);
  uint64_t before = end ? lm_and_relaxed(word, ~bit) : lm_load_relaxed(word);
  return (before & bit) != 0;
}

/* In a region and not live: nothing but a block's start can have been freed before. */
static bool is_block_start(const void *address) {
  uint32_t tag = lm_tag_of(address);
  if (tag >> LM_TAG_OWNER_SHIFT <= LM_OWNER_LARGE) return lm_large_is_free(address);
  struct lm_span *span = lm_span_of(address);
  size_t offset = (size_t)((const char *)address - lm_span_start(span));
  if (span->class_index == LM_CLASS_MIDDLE) return lm_large_is_free(address);
  return offset % lm_classes[span->class_index].block_bytes == 0;
}

static void check_start(const void *block, bool live, const char *call, void *caller) {
  if (live) return;
  bool frees = strcmp(call, "free") == 0 || strcmp(call, "heap_free") == 0;
  if (frees && is_block_start(block)) lm_misuse_double_free(block, caller);
  lm_misuse_not_a_start(block, call, caller);
}

/* ---- What stands behind a block ---- */

static uintptr_t secret(void) {
  static _Atomic(uintptr_t) word; /* written once, by the thread that finds 0 first */
  uintptr_t none = 0;
  if (lm_load_relaxed(&word) == 0) lm_cas_acquire(&word, &none, lm_os_random() | 1);
  return lm_load_relaxed(&word);
}

static unsigned char *trailer_of(const void *block) {
  return (unsigned char *)block + lm_raw_usable_bytes(block) - sizeof(size_t);
}

static void *finish(void *block, size_t size) {
  if (block == NULL) return NULL;
  size_t scrambled = size ^ secret() ^ (uintptr_t)block;
  unsigned char *trailer = trailer_of(block);
  memset((char *)block + size, END_PATTERN, (size_t)(trailer - (unsigned char *)block) - size);
  memcpy(trailer, &scrambled, sizeof scrambled);
  set_live(block);
  return block;
}

/* The requested size of a live block, whose end is whole. */
static size_t checked_size(const void *block) {
  unsigned char *trailer = trailer_of(block);
  size_t room = (size_t)(trailer - (const unsigned char *)block);
  size_t size;
  memcpy(&size, trailer, sizeof size);
  size ^= secret() ^ (uintptr_t)block;
  if (size > room) lm_misuse_write_past_end(block, room);
  for (const unsigned char *p = (const unsigned char *)block + size; p < trailer; p++)
    if (*p != END_PATTERN) lm_misuse_write_past_end(block, size);
  return size;
}

/* ---- Quarantine ---- */

static void check_held(const struct held_block *held) {
  for (size_t i = 0; i < held->bytes; i++)
    if (held->address[i] != FREE_PATTERN) lm_misuse_write_after_free(held->address);
}

/* Takes the oldest block out if more than `keep` are held; false if not. */
static bool release_one(size_t keep) {
  struct held_block held = {NULL, 0};
  lm_lock_take(&lm_quarantine_lock);
  if (quarantine_count > keep) {
    held = quarantine[quarantine_first];
    quarantine_first = (quarantine_first + 1) % QUARANTINE_BLOCKS;
    quarantine_count--;
  }
  lm_lock_free(&lm_quarantine_lock);
  if (held.address == NULL) return false;
  check_held(&held);
  lm_raw_free(held.address);
  return true;
}

static void hold(void *block) {
  struct held_block held = {block, lm_raw_usable_bytes(block)};
  memset(block, FREE_PATTERN, held.bytes);
  while (release_one(QUARANTINE_BLOCKS - 1)) {}
  bool room = false;
  lm_lock_take(&lm_quarantine_lock);
  if (quarantine_count < QUARANTINE_BLOCKS) {
    quarantine[(quarantine_first + quarantine_count++) % QUARANTINE_BLOCKS] = held;
    room = true;
  }
  lm_lock_free(&lm_quarantine_lock);
  if (!room) lm_raw_free(block); /* other threads have filled it meanwhile */
}

void lm_checked_end(void) {
  while (release_one(0)) {}
}

/* ---- The calls ---- */

void *lm_checked_malloc(size_t size) {
  if (size > PTRDIFF_MAX - TRAILER_BYTES) {
    errno = ENOMEM;
    return NULL;
  }
  release_one(QUARANTINE_BLOCKS / 2);
  return finish(lm_raw_malloc(size + TRAILER_BYTES), size);
}

void *lm_checked_calloc(size_t size) {
  if (size > PTRDIFF_MAX - TRAILER_BYTES) return NULL;
  return finish(lm_raw_calloc(size + TRAILER_BYTES), size);
}

void *lm_checked_memalign(size_t alignment, size_t size) {
  if (size > PTRDIFF_MAX - TRAILER_BYTES) return NULL;
  return finish(lm_raw_memalign(alignment, size + TRAILER_BYTES), size);
}

void *lm_checked_finish(void *block, size_t size) { return finish(block, size); }

void lm_checked_retire(void *block, const char *call, void *caller) {
  bool live = is_live(block, true);
  if (call == NULL && !live) return;
  check_start(block, live, call, caller);
  checked_size(block);
}

static bool is_foreign(const void *block) {
  return !lm_region_holds((uintptr_t)block) && lm_huge_usable_bytes(block) == 0;
}

void lm_checked_free(void *block, void *caller) {
  if (block == NULL) return;
  if (is_foreign(block)) {
    lm_foreign_free(block, caller);
    return;
  }
  check_start(block, is_live(block, true), "free", caller);
  checked_size(block);
  /* What is held back must not go with its heap meanwhile. */
  bool in_heap = lm_tag_is_shared(lm_tag_of(block)) || lm_owned_heap(block) != NULL;
  if (lm_raw_usable_bytes(block) <= QUARANTINE_MAX_BYTES && !in_heap) hold(block);
  else lm_raw_free(block);
}

void lm_checked_compare_size(const void *block, size_t size, bool aligned, void *caller) {
  (void)aligned;
  if (block != NULL && !is_foreign(block) && is_live(block, false) && checked_size(block) != size)
    lm_misuse_wrong_size(block, size, caller);
}

void lm_checked_free_sized(void *block, size_t size, bool aligned, void *caller) {
  lm_checked_compare_size(block, size, aligned, caller);
  lm_checked_free(block, caller);
}

size_t lm_checked_usable_bytes(void *block, void *caller) {
  if (is_foreign(block)) return lm_foreign_usable_bytes(block, caller);
  check_start(block, is_live(block, false), "malloc_usable_size", caller);
  return checked_size(block);
}

void *lm_checked_realloc(void *block, size_t size, void *caller) {
  if (is_foreign(block)) return lm_foreign_realloc(block, size, caller);
  check_start(block, is_live(block, false), "realloc", caller);
  size_t old_size = checked_size(block);
  if (size > PTRDIFF_MAX - TRAILER_BYTES) return NULL;
  /* Large blocks as in the fast build, so that their growth in place is tested; small ones always
   * move, so that whoever kept the old address is found out. */
  if (lm_min(old_size, size) > lm_classed_max_bytes) {
    is_live(block, true);
    void *moved = lm_raw_realloc(block, size + TRAILER_BYTES, caller);
    if (moved != NULL) return finish(moved, size);
    set_live(block);
    return NULL;
  }
  void *copy = lm_checked_malloc(size);
  if (copy == NULL) return NULL;
  memcpy(copy, block, lm_min(old_size, size));
  lm_checked_free(block, caller);
  return copy;
}

#endif
