#include "api/checking.h"

#include <errno.h>
#include <string.h>

#include "api/aside.h"
#include "api/live.h"
#include "api/sizeless.h"
#include "base/bits.h"
#include "config/options.h"
#include "central/span_life.h"
#include "large/large.h"
#include "large/owned.h"
#include "os/lock.h"
#include "os/misuse.h"
#include "os/os.h"
#include "pages/huge.h"

#if LM_CHECKING

/* In front of the program's block stands a pad, as long as its alignment or its zone if that is
 * more, of END_PATTERN but for the last bytes, which say what the block is; behind the requested
 * bytes END_PATTERN up to the end, for the length of the zone at least. */
struct header {
  uint64_t about; /* the size, and with it kind and the pad's length, scrambled */
  uint64_t seal;  /* of that */
};
#define END_PATTERN 0xa5
#define FREE_PATTERN 0xdf
#define KIND_SHIFT 56
#define PAD_SHIFT 58
_Static_assert(sizeof(struct header) == LM_GRANULE_BYTES, "blocks are aligned");

/* A zone is a power of two: larger blocks are overstepped by more, and have room for it. */
#define ZONE_MIN_BYTES (2 * LM_GRANULE_BYTES)
#define ZONE_MAX_BYTES (4 * LM_KIB)
#define ZONE_FRACTION 16
_Static_assert(ZONE_MIN_BYTES > sizeof(struct header), "it has a pattern, too");

/* Freed blocks that have not gone back yet, oldest first. */
#define QUARANTINE_BLOCKS 256
#define QUARANTINE_MAX_BYTES (3 * LM_MIB / 2) /* in all; larger ones go back at once */
#define FILLED_MAX_BYTES (256 * LM_KIB)   /* of one block */
struct held_block {
  unsigned char *address; /* the heap's */
  unsigned char *block;   /* the program's */
  size_t bytes;
};
/* Held also while a block of the program's begins, ends or is looked at. */
struct lm_lock lm_quarantine_lock = LM_LOCK_INIT(LM_RANK_QUARANTINE);
static struct held_block quarantine[QUARANTINE_BLOCKS]; /* these four under the lock */
static size_t quarantine_first, quarantine_count, quarantine_bytes;

/* ---- Which blocks the program has ---- */

static uint64_t secret(void) {
  static _Atomic(uintptr_t) word; /* written once, by the thread that finds 0 first */
  uintptr_t none = 0;
  if (lm_load_relaxed(&word) == 0) lm_cas_acquire(&word, &none, lm_os_random() | 1);
  return (uint64_t)lm_load_relaxed(&word) * UINT64_C(0x9e3779b97f4a7c15);
}

static struct header *header_of(const void *block) {
  return (struct header *)((uintptr_t)block - sizeof(struct header));
}
static uint64_t seal_for(const void *block, uint64_t about) {
  return (about ^ secret() ^ (uintptr_t)block) * UINT64_C(0xc2b2ae3d27d4eb4f);
}

struct about {
  size_t size, pad_bytes;
  enum lm_block_kind kind;
};

/* False if the bytes before the block are not as they were left. */
static bool read_about(const void *block, struct about *about) {
  const struct header *header = header_of(block);
  uint64_t word = header->about ^ secret();
  *about = (struct about){(size_t)(word & (((uint64_t)1 << KIND_SHIFT) - 1)),
                          (size_t)1 << (word >> PAD_SHIFT),
                          (enum lm_block_kind)(word >> KIND_SHIFT & 3)};
  return header->seal == seal_for(block, header->about);
}

static void write_about(void *block, const struct about *about) {
  struct header *header = header_of(block);
  header->about = secret() ^ (about->size | (uint64_t)about->kind << KIND_SHIFT |
                              (uint64_t)lm_log2_floor(about->pad_bytes) << PAD_SHIFT);
  header->seal = seal_for(block, header->about);
}

/* Whether the program has the block; with `end`, it does no longer. */
static bool is_live(const void *block, bool end) {
  if ((uintptr_t)block % LM_GRANULE_BYTES != 0) return false;
  if (lm_sizeless_holds(block)) return lm_sizeless_is(block, end);
  if (!lm_region_holds((uintptr_t)block)) {
    const char *start = lm_huge_start(block);
    size_t pad_bytes = (size_t)((const char *)block - start);
    struct about about;
    if (start == NULL || pad_bytes < sizeof(struct header)) return false;
    return pad_bytes == ZONE_MAX_BYTES ||
           (read_about(block, &about) && about.pad_bytes == pad_bytes);
  }
  return lm_live_is(block, end);
}

static bool is_held(const void *block) {
  bool held = false;
  lm_lock_take(&lm_quarantine_lock);
  for (size_t i = 0; i < quarantine_count; i++)
    held |= quarantine[(quarantine_first + i) % QUARANTINE_BLOCKS].block == block;
  lm_lock_free(&lm_quarantine_lock);
  return held;
}

/* Not live: only what begins where a block does can have been freed before. */
static bool was_block(const void *block) {
  if (lm_sizeless_holds(block)) return true;
  if (!lm_region_holds((uintptr_t)block)) return false;
  if (is_held(block)) return true;
  uint32_t tag = lm_tag_of(block);
  if (!lm_tag_is_small(tag)) return lm_large_is_free(block);
  size_t bytes = lm_classes[tag & LM_TAG_CLASS_MASK].block_bytes, pad_bytes = ZONE_MIN_BYTES;
  for (; pad_bytes < bytes; pad_bytes *= 2) {
    char *raw = (char *)block - pad_bytes;
    if (lm_span_has_block_at(lm_span_of(block), raw)) return lm_checked_block_in(raw) == NULL;
  }
  return false;
}

static void check_start(const void *block, bool live, const char *call, void *caller) {
  if (live) return;
  bool frees = strcmp(call, "realloc") != 0 && strcmp(call, "malloc_usable_size") != 0;
  if (frees && (uintptr_t)block % LM_GRANULE_BYTES == 0 && was_block(block))
    lm_misuse_double_free(block, caller);
  lm_misuse_not_a_start(block, call, caller);
}

/* ---- What stands around a block ---- */

static void *raw_of(const void *block, const struct about *about) {
  return (char *)block - about->pad_bytes;
}

static size_t room_behind(const void *block, const struct about *about) {
  return lm_raw_usable_bytes(raw_of(block, about)) - about->pad_bytes;
}

/* So much of the pad is looked at, its end. */
static size_t pattern_bytes_before(const struct about *about) {
  return lm_min(about->pad_bytes, ZONE_MAX_BYTES) - sizeof(struct header);
}

static bool is_all(const void *start, size_t count, unsigned char pattern) {
  /* The first byte, and each as the one before it: memcmp looks at many at a time. */
  const unsigned char *bytes = start;
  return count == 0 || (bytes[0] == pattern && memcmp(bytes, bytes + 1, count - 1) == 0);
}

static void *finish(void *raw, const struct about *about) {
  if (raw == NULL) return NULL;
  char *block = (char *)raw + about->pad_bytes;
  size_t before = pattern_bytes_before(about);
  lm_lock_take(&lm_quarantine_lock);
  memset((char *)header_of(block) - before, END_PATTERN, before);
  write_about(block, about);
  memset(block + about->size, END_PATTERN, room_behind(block, about) - about->size);
  lm_live_begin(block);
  lm_lock_free(&lm_quarantine_lock);
  return block;
}

/* What a live block is, whose ends are whole. */
static struct about checked_about(const void *block) {
  struct about about;
  if (lm_sizeless_holds(block)) {
    enum lm_block_kind kind = (enum lm_block_kind)lm_load_relaxed(lm_sizeless_kind(block));
    return (struct about){0, 0, kind};
  }
  if (!read_about(block, &about)) lm_misuse_write_before_start(block);
  size_t before = pattern_bytes_before(&about);
  if (!is_all((const char *)header_of(block) - before, before, END_PATTERN))
    lm_misuse_write_before_start(block);
  size_t behind = room_behind(block, &about) - about.size;
  if (!is_all((const char *)block + about.size, behind, END_PATTERN))
    lm_misuse_write_past_end(block, about.size);
  return about;
}

/* ---- All blocks, some of them with a call ---- */

#define CALLS_PER_LOOK 256
#define WORDS_PER_LOOK 512 /* of live_granules */

static void look_at_word(const struct lm_region *region, size_t index) {
  uint64_t live = lm_load_relaxed(&region->live_granules[index]);
  for (; live != 0; live &= live - 1) {
    size_t granule = index * 64 + (size_t)__builtin_ctzll(live);
    checked_about((const char *)region + granule * LM_GRANULE_BYTES);
  }
}

/* The region at `number` or the next one; NULL if there is none. The lock of the tags is held, so
 * that none goes. */
static struct lm_region *next_region(size_t *number) {
  size_t end = (size_t)1 << (LM_REGION_ADDRESS_BITS - LM_REGION_SHIFT);
  while (*number < end) {
    uint64_t word = lm_load_relaxed(&lm_region_map[*number / 64]) >> *number % 64;
    if (word != 0) {
      *number += (size_t)__builtin_ctzll(word);
      return (struct lm_region *)((uintptr_t)*number << LM_REGION_SHIFT);
    }
    *number = (*number / 64 + 1) * 64;
  }
  return NULL;
}

/* Looks at the blocks of up to `most` words from the place on, and moves that. False at the end,
 * where it begins anew. */
struct place {
  size_t region, word;
};
static bool look_at_blocks(struct place *place, size_t most) {
  if (lm_os_is_bare_copy()) return false; /* other threads' blocks may lack their ends */
  lm_lock_take(&lm_quarantine_lock);
  lm_lock_take(&lm_tags_lock);
  size_t number = place->region;
  const struct lm_region *region = next_region(&number);
  if (number != place->region) place->word = 0;
  place->region = number;
  size_t word_count = region == NULL ? 0 : region->bytes / LM_GRANULE_BYTES / 64;
  for (; most > 0 && place->word < word_count; most--) look_at_word(region, place->word++);
  if (place->word >= word_count) *place = (struct place){region == NULL ? 0 : number + 1, 0};
  lm_lock_free(&lm_tags_lock);
  lm_lock_free(&lm_quarantine_lock);
  return region != NULL;
}

static void look_now_and_then(void) {
  static _Atomic(uint32_t) calls;
  static struct place place; /* under the lock */
  if ((lm_add_relaxed(&calls, 1) + 1) % CALLS_PER_LOOK != 0) return;
  look_at_blocks(&place, WORDS_PER_LOOK);
}

/* ---- Quarantine ---- */

static size_t filled_bytes(const struct held_block *held) {
  return lm_min(held->bytes, FILLED_MAX_BYTES);
}

static void check_held(const struct held_block *held) {
  if (!is_all(held->address, filled_bytes(held), FREE_PATTERN))
    lm_misuse_write_after_free(held->block);
}

/* Takes the oldest block out if more than `keep` are held, or more than `keep_bytes`; false if
 * not. */
static bool release_one(size_t keep, size_t keep_bytes) {
  struct held_block held = {NULL, NULL, 0};
  if (lm_os_is_bare_copy()) return false; /* other threads' may be half filled, or in use again */
  lm_lock_take(&lm_quarantine_lock);
  if (quarantine_count > keep || quarantine_bytes > keep_bytes) {
    held = quarantine[quarantine_first];
    quarantine_first = (quarantine_first + 1) % QUARANTINE_BLOCKS;
    quarantine_count--;
    quarantine_bytes -= held.bytes;
  }
  lm_lock_free(&lm_quarantine_lock);
  if (held.address == NULL) return false;
  check_held(&held);
  lm_raw_free(held.address);
  return true;
}

static void hold(void *raw, void *block) {
  if (lm_os_is_bare_copy()) { /* where nothing leaves the quarantine */
    lm_raw_free(raw);
    return;
  }
  struct held_block held = {raw, block, lm_raw_usable_bytes(raw)};
  memset(raw, FREE_PATTERN, filled_bytes(&held));
  while (release_one(QUARANTINE_BLOCKS - 1, QUARANTINE_MAX_BYTES - held.bytes)) {}
  bool room = false;
  lm_lock_take(&lm_quarantine_lock);
  if (quarantine_count < QUARANTINE_BLOCKS) {
    quarantine[(quarantine_first + quarantine_count++) % QUARANTINE_BLOCKS] = held;
    quarantine_bytes += held.bytes;
    room = true;
  }
  lm_lock_free(&lm_quarantine_lock);
  if (!room) lm_raw_free(raw); /* other threads have filled it meanwhile */
}

void lm_checked_end(void) {
  struct place place = {0, 0};
  while (look_at_blocks(&place, SIZE_MAX)) {}
  while (release_one(0, 0)) {}
}

/* ---- The calls ---- */

static size_t zone_bytes(size_t size) {
  size_t part = lm_max(size / ZONE_FRACTION, ZONE_MIN_BYTES);
  return lm_min((size_t)1 << lm_log2_floor(part), ZONE_MAX_BYTES);
}

static struct about about_new(size_t alignment, size_t size, enum lm_block_kind kind) {
  return (struct about){size, lm_max(alignment, zone_bytes(size)), kind};
}

static size_t raw_bytes(const struct about *about) {
  return about->pad_bytes + about->size + zone_bytes(about->size);
}

size_t lm_checked_room(size_t size, size_t alignment) {
  struct about about = about_new(alignment, size, LM_KIND_MALLOC);
  return raw_bytes(&about);
}

void *lm_checked_finish(void *raw, size_t size, size_t alignment) {
  struct about about = about_new(alignment, size, LM_KIND_MALLOC);
  return finish(raw, &about);
}

static void *new_sizeless(enum lm_block_kind kind) {
  lm_process_start();
  void *block = lm_sizeless_take();
  if (block != NULL) lm_store_relaxed(lm_sizeless_kind(block), (uint8_t)kind);
  return block;
}

void *lm_checked_new_aligned(size_t alignment, size_t size, enum lm_block_kind kind) {
  if (size > PTRDIFF_MAX / 2 || alignment > PTRDIFF_MAX / 4) return NULL;
  lm_process_start();
  if (lm_is_listed() && alignment <= LM_GRANULE_BYTES) return lm_aside_take_behind(size, false);
  release_one(QUARANTINE_BLOCKS / 2, SIZE_MAX);
  look_now_and_then();
  void *sizeless = size == 0 && alignment <= LM_GRANULE_BYTES ? new_sizeless(kind) : NULL;
  if (sizeless != NULL) return sizeless;
  struct about about = about_new(alignment, size, kind);
  return finish(lm_raw_memalign(alignment, raw_bytes(&about)), &about);
}

void *lm_checked_new(size_t size, enum lm_block_kind kind) {
  return lm_checked_new_aligned(LM_GRANULE_BYTES, size, kind);
}

void *lm_checked_malloc(size_t size) {
  void *block = lm_checked_new(size, LM_KIND_MALLOC);
  if (block == NULL) errno = ENOMEM;
  return block;
}

void *lm_checked_memalign(size_t alignment, size_t size) {
  return lm_checked_new_aligned(alignment, size, LM_KIND_MALLOC);
}

void *lm_checked_calloc(size_t size) {
  if (size > PTRDIFF_MAX / 2) return NULL;
  lm_process_start();
  if (lm_is_listed()) return lm_aside_take_behind(size, true);
  if (size == 0) return lm_checked_new(0, LM_KIND_MALLOC);
  struct about about = about_new(LM_GRANULE_BYTES, size, LM_KIND_MALLOC);
  return finish(lm_raw_calloc(raw_bytes(&about)), &about);
}

void lm_checked_set_kind(void *block, enum lm_block_kind kind) {
  lm_lock_take(&lm_quarantine_lock);
  struct about about = checked_about(block);
  about.kind = kind;
  if (lm_sizeless_holds(block)) lm_store_relaxed(lm_sizeless_kind(block), (uint8_t)kind);
  else write_about(block, &about);
  lm_lock_free(&lm_quarantine_lock);
}

static bool is_foreign(const void *block) {
  return !lm_region_holds((uintptr_t)block) && !lm_sizeless_holds(block) &&
         lm_huge_start(block) == NULL;
}

/* What the block is that the program says it has; `end`: and has no longer. */
static struct about look_at(const void *block, bool end, const char *call, void *caller) {
  lm_lock_take(&lm_quarantine_lock);
  bool live = is_live(block, end);
  struct about about = {0, 0, LM_KIND_MALLOC};
  if (live) about = checked_about(block);
  lm_lock_free(&lm_quarantine_lock);
  check_start(block, live, call, caller);
  return about;
}

bool lm_checked_is_live(const void *block) { return !is_foreign(block) && is_live(block, false); }

void *lm_checked_raw(const void *block) {
  struct about about;
  bool live = !lm_sizeless_holds(block) && lm_checked_is_live(block) &&
              read_about(block, &about);
  return live ? raw_of(block, &about) : (void *)block;
}

void *lm_checked_block_in(void *raw) {
  size_t bytes = lm_raw_usable_bytes(raw);
  char *live = NULL; /* or what seems so, its header being broken */
  for (size_t pad_bytes = ZONE_MIN_BYTES; pad_bytes < bytes; pad_bytes *= 2) {
    struct about about;
    char *block = (char *)raw + pad_bytes;
    if (!is_live(block, false)) continue;
    if (read_about(block, &about)) return block;
    if (live == NULL) live = block;
  }
  return live;
}

void *lm_checked_retire(void *block, const char *call, void *caller) {
  struct about about = look_at(block, true, call, caller);
  return raw_of(block, &about);
}

static const char *kind_names[] = {"malloc", "new", "new[]"};
static const char *end_names[] = {"free", "delete", "delete[]"};

/* Only that it is so is kept: otherwise the program ends. Written and read by any thread. */
static _Atomic(bool) library_has_new;

/* A library with a C++ runtime inside has its objects from malloc, and others delete them. */
static bool may_be_of_a_library(enum lm_block_kind is, enum lm_block_kind wanted) {
  if (is != LM_KIND_MALLOC && wanted != LM_KIND_MALLOC) return false;
  if (!lm_load_relaxed(&library_has_new) && lm_os_library_has_new())
    lm_store_relaxed(&library_has_new, true);
  return lm_load_relaxed(&library_has_new);
}

static void check_kind(const void *block, enum lm_block_kind is, enum lm_block_kind wanted,
                       const char *call, void *caller) {
  if (is == wanted || LM_OPTION(mismatch) == LM_MISMATCH_IGNORE) return;
  if (may_be_of_a_library(is, wanted)) return;
  lm_misuse_mismatch(block, kind_names[is], call, caller);
}

void lm_checked_delete(void *block, enum lm_block_kind kind, void *caller) {
  if (block == NULL) return;
  if (is_foreign(block)) {
    lm_foreign_free(block, caller);
    return;
  }
  struct about about = look_at(block, true, "free", caller);
  check_kind(block, about.kind, kind, end_names[kind], caller);
  if (lm_sizeless_holds(block)) return;
  void *raw = raw_of(block, &about);
  look_now_and_then();
  /* What is held back must not go with its heap meanwhile. */
  bool in_heap = lm_tag_is_shared(lm_tag_of(raw)) || lm_owned_heap(raw) != NULL;
  bool held = lm_region_holds((uintptr_t)raw) && !in_heap &&
              lm_raw_usable_bytes(raw) <= QUARANTINE_MAX_BYTES;
  if (held) hold(raw, block);
  else lm_raw_free(raw);
}

void lm_checked_free(void *block, void *caller) {
  lm_checked_delete(block, LM_KIND_MALLOC, caller);
}

void lm_checked_compare_size(const void *block, size_t size, bool aligned, void *caller) {
  (void)aligned;
  if (block == NULL || is_foreign(block) || !is_live(block, false)) return;
  if (checked_about(block).size != size && LM_OPTION(mismatch) != LM_MISMATCH_IGNORE)
    lm_misuse_wrong_size(block, size, caller);
}

void lm_checked_delete_sized(void *block, size_t size, bool aligned, enum lm_block_kind kind,
                             void *caller) {
  lm_checked_compare_size(block, size, aligned, caller);
  lm_checked_delete(block, kind, caller);
}

size_t lm_checked_usable_bytes(void *block, void *caller) {
  if (is_foreign(block)) return lm_foreign_usable_bytes(block, caller);
  return look_at(block, false, "malloc_usable_size", caller).size;
}

static void *resize_foreign(void *block, size_t size, void *caller) {
  size_t old_bytes;
  void *resized;
  if (lm_foreign_resize(block, size, &resized)) return resized;
  if (!lm_foreign_can_move(block, &old_bytes, caller)) return NULL;
  return lm_foreign_move(block, old_bytes, lm_checked_malloc(size), size, caller);
}

void *lm_checked_realloc(void *block, size_t size, void *caller) {
  if (is_foreign(block)) return resize_foreign(block, size, caller);
  struct about about = look_at(block, false, "realloc", caller);
  check_kind(block, about.kind, LM_KIND_MALLOC, "realloc", caller);
  if (size > PTRDIFF_MAX / 2) return NULL;
  size_t old_size = about.size;
  /* Large blocks as in the fast build, so that their growth in place is tested; small ones always
   * move, so that whoever kept the old address is found out. */
  if (lm_min(old_size, size) > lm_classed_max_bytes && about.pad_bytes <= ZONE_MAX_BYTES) {
    look_at(block, true, "realloc", caller);
    about.size = size;
    void *raw = raw_of(block, &about);
    void *moved = lm_raw_realloc(raw, raw_bytes(&about), caller);
    char *grown = (char *)moved + about.pad_bytes + old_size;
    if (moved != NULL && size > old_size) lm_fill_new(grown, size - old_size);
    if (moved != NULL) return finish(moved, &about);
    lm_live_begin(block);
    return NULL;
  }
  void *copy = lm_checked_malloc(size);
  if (copy == NULL) return NULL;
  memcpy(copy, block, lm_min(old_size, size));
  lm_checked_free(block, caller);
  return copy;
}

#endif
