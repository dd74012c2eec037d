/* What stands between the public functions and the allocator.
 *
 * In the fast build nothing does. The checking build keeps for every granule of memory whether a
 * block of the program's begins there, puts the requested size and a pattern behind every block,
 * and holds freed blocks back for a while, filled with another pattern. So it finds frees of what
 * is no block, double frees, writes past the end and writes after free; docs/errors.md. */
#ifndef LM_API_CHECKING_H
#define LM_API_CHECKING_H

#include "api/allocate.h"
#include "api/foreign.h"
#include "api/guarded.h"

#if LM_CHECKING

#define LM_CHECKED_TRAILER_BYTES 16

/* Sets errno if it returns NULL; the others do not. */
void *lm_checked_malloc(size_t size);
void *lm_checked_calloc(size_t size);
void *lm_checked_memalign(size_t alignment, size_t size);
void *lm_checked_realloc(void *block, size_t size, void *caller);
void lm_checked_free(void *block, void *caller);
/* Ends the program if that is not the size of the block; looks at no block that is not loam's. */
void lm_checked_compare_size(const void *block, size_t size, bool aligned, void *caller);
void lm_checked_free_sized(void *block, size_t size, bool aligned, void *caller);
size_t lm_checked_usable_bytes(void *block, void *caller);
/* For blocks of first-class heaps, which are never held back: what to ask for instead of `size`;
 * the block, once it is there; and its end, when it is freed or, `call` being NULL, its heap is. */
LM_INLINE size_t lm_checked_room(size_t size) { return size + LM_CHECKED_TRAILER_BYTES; }
void *lm_checked_finish(void *block, size_t size);
void lm_checked_retire(void *block, const char *call, void *caller);
extern struct lm_lock lm_quarantine_lock;
/* Checks and frees the blocks held back. */
void lm_checked_end(void);

#else

LM_INLINE void *lm_checked_malloc(size_t size) { return lm_raw_malloc(size); }
LM_INLINE void *lm_checked_calloc(size_t size) { return lm_raw_calloc(size); }
LM_INLINE void *lm_checked_memalign(size_t alignment, size_t size) {
  return lm_raw_memalign(alignment, size);
}
LM_INLINE void lm_checked_free(void *block, void *caller) {
  (void)caller;
  lm_raw_free(block);
}
LM_INLINE void lm_checked_free_sized(void *block, size_t size, bool aligned, void *caller) {
  (void)caller;
  lm_raw_free_sized(block, size, aligned);
}
LM_INLINE void lm_checked_compare_size(const void *block, size_t size, bool aligned,
                                       void *caller) {
  lm_compare_size(block, size, aligned, caller);
}
LM_INLINE void *lm_checked_realloc(void *block, size_t size, void *caller) {
  return lm_raw_realloc(block, size, caller);
}
LM_INLINE size_t lm_checked_usable_bytes(void *block, void *caller) {
  if (lm_guarded_holds(block)) return lm_guarded_size(block, "malloc_usable_size", caller);
  size_t bytes = lm_raw_usable_bytes(block);
  return LM_LIKELY(bytes != 0) ? bytes : lm_foreign_usable_bytes(block, caller);
}
LM_INLINE size_t lm_checked_room(size_t size) { return size; }
LM_INLINE void *lm_checked_finish(void *block, size_t size) {
  (void)size;
  return block;
}
LM_INLINE void lm_checked_retire(void *block, const char *call, void *caller) {
  (void)block;
  (void)call;
  (void)caller;
}
LM_INLINE void lm_checked_end(void) {}

#endif
#endif
