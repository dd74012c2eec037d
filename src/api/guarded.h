/* Guarded blocks: some of the first that a process takes. They have bytes before and behind them
 * that the program must not write to, so that what it does wrong from its start on is found, at no
 * cost for all that it does later. Small ones stand side by side in an arena, where each is used
 * once. Larger ones are a part of a middle or large block, behind an OS page for their guard. */
#ifndef LM_API_GUARDED_H
#define LM_API_GUARDED_H

#include "api/sampled.h"
#include "api/sizeless.h"
#include "base/atomic.h"
#include "base/compiler.h"
#include "pages/region.h"

#define LM_GUARDED_MAX_BYTES 4096
#define LM_GUARDED_ARENA_BYTES (32 * LM_KIB)

/* Of larger ones. */
#define LM_GUARDED_RUN_MAX_BYTES (2 * LM_MIB)

extern char lm_guarded_arena[LM_GUARDED_ARENA_BYTES];
/* So many calls of malloc's slow path more may take a guarded block; LM_GUARDED_NONE, or an order
 * from outside: none does, and all see to something else (api/profile.h). Written by any thread,
 * and by `loam prof --start`. */
extern _Atomic(uint32_t) lm_guarded_calls_left;
#define LM_GUARDED_NONE UINT32_MAX
#define LM_GUARDED_COUNT_MAX INT32_MAX /* what is more is no count */
LM_INLINE bool lm_guarded_is_on(void) { return lm_load_relaxed(&lm_guarded_calls_left) != 0; }

LM_INLINE bool lm_guarded_is_in_arena(const void *address) {
  return (uintptr_t)address - (uintptr_t)lm_guarded_arena < LM_GUARDED_ARENA_BYTES;
}

/* A larger block. */
LM_INLINE bool lm_guarded_is_run(const void *address) {
  return lm_region_holds((uintptr_t)address) &&
         (lm_load_relaxed(lm_region_block_entry(address)) & LM_BLOCK_GUARDED) != 0 &&
         ((uintptr_t)address & (lm_os.page_bytes - 1)) == 0;
}

LM_INLINE bool lm_guarded_holds(const void *address) {
  return lm_guarded_is_in_arena(address) || lm_guarded_is_run(address) ||
         lm_sampled_holds(address) || lm_sizeless_holds(address);
}

/* Counts a call. A small block, all zero; NULL if there are no more, or the size is larger. */
void *lm_guarded_take(size_t size);

/* Whether a larger one may be made, and what of: a block of so many bytes, or 0. Makes it, unless
 * that turns out to be neither a middle nor a large block, and returns where it begins. */
size_t lm_guarded_run_bytes(size_t size);
void *lm_guarded_make_run(void *block, size_t size);

/* Whether a small block begins at `address`, which is in the arena. */
bool lm_guarded_starts(const void *address);

/* The size that a block was asked for with. Of these two, an address in the arena that is no block
 * of the program's, and a block whose guards have been written to, end the program. */
size_t lm_guarded_size(const void *address, const char *call, void *caller);
/* The block has so many bytes from here on, which are not more. */
void lm_guarded_shorten(void *block, size_t size);
/* Returns the block that it is a part of, which is to be freed; or NULL. */
void *lm_guarded_end(void *address, void *caller);

/* Looks at the guards of all small blocks, and at what is in those that are free. */
void lm_guarded_inspect(void);

#endif
