/* What a hardened build does between the public functions and the allocator; in others this is
 * nothing. A block that is freed must be one that the program has; it is cleared, held back for a
 * random number of frees, and must still be clear then. */
#ifndef LM_API_HARDENED_H
#define LM_API_HARDENED_H

#include "api/allocate.h"

#if LM_HARDENED_FREES

/* The program has the block from here on; returns it. NULL stays NULL. */
void *lm_hardened_begin(void *block);
/* Whether it has the block, as far as is known. */
bool lm_hardened_has(const void *block);
/* Ends the program if it has no such block. */
void lm_hardened_look(const void *block, const char *call, void *caller);
/* The program has the block no longer, but no other may have it yet: returns it, cleared. */
void *lm_hardened_retire(void *block, const char *call, void *caller);
void lm_hardened_free(void *block, void *caller);
/* As lm_raw_realloc. */
void *lm_hardened_realloc(void *block, size_t size, void *caller);
/* Frees what the cache's thread holds back. */
void lm_hardened_let_go(struct lm_cache *cache);

#else

LM_INLINE void *lm_hardened_begin(void *block) { return block; }
LM_INLINE bool lm_hardened_has(const void *block) {
  (void)block;
  return true;
}
LM_INLINE void lm_hardened_look(const void *block, const char *call, void *caller) {
  (void)block;
  (void)call;
  (void)caller;
}
LM_INLINE void *lm_hardened_retire(void *block, const char *call, void *caller) {
  (void)call;
  (void)caller;
  return block;
}
LM_INLINE void lm_hardened_free(void *block, void *caller) {
  (void)caller;
  lm_raw_free(block);
}
LM_INLINE void *lm_hardened_realloc(void *block, size_t size, void *caller) {
  return lm_raw_realloc(block, size, caller);
}
LM_INLINE void lm_hardened_let_go(struct lm_cache *cache) { (void)cache; }

#endif
#endif
