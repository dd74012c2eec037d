#include "api/sizeless.h"

#include "base/bits.h"
#include "os/misuse.h"
#include "os/os.h"
#include "sizeclass/sizeclass.h"

#if LM_SIZELESS

#define PLACE_COUNT 16384
#define LOOKS_FOR_PLACE 64 /* of those that are used next */
#define ARENA_BYTES ((size_t)PLACE_COUNT * LM_GRANULE_BYTES)

/* NOT_MADE, NO_ARENA if there is no such address space, or where it begins. Stored once, with a
 * release that pairs with the acquire of whoever has an address. */
static _Atomic(uintptr_t) arena;
enum { NOT_MADE, NO_ARENA };
/* Bit i: the program has a block at place i. Changed by who takes or frees it. */
static _Atomic(uint64_t) live_places[PLACE_COUNT / 64];
static _Atomic(uint8_t) kinds[PLACE_COUNT]; /* lm_sizeless_kind */
static _Atomic(uint32_t) next_place; /* written by who takes one: which place is next */

static bool forbid_access(void *start) {
  if (!lm_os.overcommit) return true; /* reserved memory is so */
#if defined(__linux__)
  return lm_os_uncommit(start, ARENA_BYTES) == 0;
#else
  (void)start;
  return false;
#endif
}

static LM_COLD uintptr_t make_arena(void) {
  void *start;
  uintptr_t expected = NOT_MADE, made = NO_ARENA;
  if (lm_os_reserve(ARENA_BYTES, lm_os.page_bytes, &start) == 0) {
    if (forbid_access(start)) made = (uintptr_t)start;
    else lm_os_release(start, ARENA_BYTES);
  }
  if (lm_cas_release(&arena, &expected, made)) return made;
  if (made != NO_ARENA) lm_os_release(start, ARENA_BYTES);
  return lm_load_acquire(&arena);
}

bool lm_sizeless_holds(const void *address) {
  uintptr_t start = lm_load_acquire(&arena);
  return start > NO_ARENA && (uintptr_t)address - start < ARENA_BYTES;
}

static size_t place_of(const void *address) {
  return ((uintptr_t)address - lm_load_acquire(&arena)) / LM_GRANULE_BYTES;
}

void *lm_sizeless_take(void) {
  uintptr_t start = lm_load_acquire(&arena);
  if (LM_UNLIKELY(start == NOT_MADE)) start = make_arena();
  for (size_t i = 0; i < LOOKS_FOR_PLACE && start != NO_ARENA; i++) {
    size_t place = lm_add_relaxed(&next_place, 1) % PLACE_COUNT;
    uint64_t bit = (uint64_t)1 << place % 64;
    if ((lm_or_relaxed(&live_places[place / 64], bit) & bit) == 0)
      return (void *)(start + place * LM_GRANULE_BYTES);
  }
  return NULL;
}

bool lm_sizeless_is(const void *address, bool end) {
  if ((uintptr_t)address % LM_GRANULE_BYTES != 0) return false;
  size_t place = place_of(address);
  uint64_t bit = (uint64_t)1 << place % 64;
  _Atomic(uint64_t) *word = &live_places[place / 64];
  return ((end ? lm_and_relaxed(word, ~bit) : lm_load_relaxed(word)) & bit) != 0;
}

void lm_sizeless_look(const void *address, const char *call, void *caller) {
  if (!lm_sizeless_is(address, false)) lm_misuse_not_a_start(address, call, caller);
}

void lm_sizeless_end(const void *address, void *caller) {
  if (lm_sizeless_is(address, true)) return;
  if ((uintptr_t)address % LM_GRANULE_BYTES == 0) lm_misuse_double_free(address, caller);
  lm_misuse_not_a_start(address, "free", caller);
}

_Atomic(uint8_t) *lm_sizeless_kind(const void *block) { return &kinds[place_of(block)]; }

#endif
