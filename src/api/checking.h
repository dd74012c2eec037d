/* What stands between the public functions and the allocator.
 *
 * In the fast build nothing does. The checking build keeps for every granule of memory whether a
 * block of the program's begins there, puts what the block is before it and a pattern behind it,
 * which it looks at when the block is used and now and then, and holds freed blocks back for a
 * while, filled with another pattern; docs/errors.md. */
#ifndef LM_API_CHECKING_H
#define LM_API_CHECKING_H

#include "api/allocate.h"
#include "api/foreign.h"
#include "api/guarded.h"
#include "api/hardened.h"

/* What a block was asked for with, and what it is given back with. */
enum lm_block_kind { LM_KIND_MALLOC, LM_KIND_NEW, LM_KIND_NEW_ARRAY };

#if LM_CHECKING

/* Sets errno if it returns NULL; the others do not. */
void *lm_checked_malloc(size_t size);
void *lm_checked_calloc(size_t size);
void *lm_checked_memalign(size_t alignment, size_t size);
void *lm_checked_realloc(void *block, size_t size, void *caller);
void lm_checked_free(void *block, void *caller);
void *lm_checked_new(size_t size, enum lm_block_kind kind);
void *lm_checked_new_aligned(size_t alignment, size_t size, enum lm_block_kind kind);
/* The block is of that kind from here on. */
void lm_checked_set_kind(void *block, enum lm_block_kind kind);
void lm_checked_delete(void *block, enum lm_block_kind kind, void *caller);
void lm_checked_delete_sized(void *block, size_t size, bool aligned, enum lm_block_kind kind,
                             void *caller);
/* Ends the program if that is not the size of the block; looks at no block that is not loam's. */
void lm_checked_compare_size(const void *block, size_t size, bool aligned, void *caller);
size_t lm_checked_usable_bytes(void *block, void *caller);
bool lm_checked_is_live(const void *block);
/* For blocks of first-class heaps, which are never held back: what to ask for instead of `size`,
 * with the same alignment; the program's block, once it is there; the heap's block that the
 * program's is in, and the program's in the heap's, or NULL; and the block's end, which returns the
 * heap's. */
size_t lm_checked_room(size_t size, size_t alignment);
void *lm_checked_finish(void *raw, size_t size, size_t alignment);
void *lm_checked_raw(const void *block);
void *lm_checked_block_in(void *raw);
void *lm_checked_retire(void *block, const char *call, void *caller);
extern struct lm_lock lm_quarantine_lock;
/* Looks at all blocks, and frees those that are held back. */
void lm_checked_end(void);

#else

LM_INLINE void *lm_checked_malloc(size_t size) {
  return lm_hardened_begin(lm_raw_malloc(size));
}
LM_INLINE void *lm_checked_calloc(size_t size) {
  return lm_hardened_begin(lm_raw_calloc(size));
}
LM_INLINE void *lm_checked_memalign(size_t alignment, size_t size) {
  return lm_hardened_begin(lm_raw_memalign(alignment, size));
}
LM_INLINE void lm_checked_free(void *block, void *caller) { lm_hardened_free(block, caller); }
/* Of the operators, which a build that overrides nothing has not: unused there. */
LM_UNUSED LM_INLINE void *lm_checked_new(size_t size, enum lm_block_kind kind) {
  (void)kind;
  return lm_hardened_begin(lm_raw_malloc(size));
}
LM_UNUSED LM_INLINE void *lm_checked_new_aligned(size_t alignment, size_t size,
                                                 enum lm_block_kind kind) {
  (void)kind;
  return lm_hardened_begin(lm_raw_memalign(alignment, size));
}
LM_UNUSED LM_INLINE void lm_checked_set_kind(void *block, enum lm_block_kind kind) {
  (void)block;
  (void)kind;
}
LM_UNUSED LM_INLINE void lm_checked_delete(void *block, enum lm_block_kind kind, void *caller) {
  (void)kind;
  lm_hardened_free(block, caller);
}
LM_UNUSED LM_INLINE void lm_checked_delete_sized(void *block, size_t size, bool aligned,
                                                 enum lm_block_kind kind, void *caller) {
  (void)kind;
#if LM_HARDENED_FREES
  lm_compare_size(block, size, aligned, caller);
  lm_hardened_free(block, caller);
#else
  (void)caller;
  lm_raw_free_sized(block, size, aligned);
#endif
}
LM_INLINE void lm_checked_compare_size(const void *block, size_t size, bool aligned,
                                       void *caller) {
  lm_compare_size(block, size, aligned, caller);
}
LM_INLINE void *lm_checked_realloc(void *block, size_t size, void *caller) {
  return lm_hardened_realloc(block, size, caller);
}
LM_INLINE size_t lm_checked_usable_bytes(void *block, void *caller) {
  lm_hardened_look(block, "malloc_usable_size", caller);
  if (lm_guarded_holds(block)) return lm_guarded_size(block, "malloc_usable_size", caller);
  size_t bytes = lm_raw_usable_bytes(block);
  return LM_LIKELY(bytes != 0) ? bytes : lm_foreign_usable_bytes(block, caller);
}
LM_INLINE size_t lm_checked_room(size_t size, size_t alignment) {
  (void)alignment;
  return size;
}
LM_INLINE void *lm_checked_finish(void *raw, size_t size, size_t alignment) {
  (void)size;
  (void)alignment;
  return lm_hardened_begin(raw);
}
LM_INLINE void *lm_checked_raw(const void *block) { return (void *)block; }
LM_INLINE void *lm_checked_block_in(void *raw) { return lm_hardened_has(raw) ? raw : NULL; }
LM_INLINE void *lm_checked_retire(void *block, const char *call, void *caller) {
  return lm_hardened_retire(block, call, caller);
}
LM_INLINE void lm_checked_end(void) {}

#endif
#endif
