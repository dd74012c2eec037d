/* A program that defines malloc itself, or has a library that the loader puts in front of a
 * preloaded loam: what it calls as malloc and free is not loam's. Then loam steps aside as a whole:
 * whatever derives from malloc and free under a public name (reallocarray, operator new, ...) calls
 * what the program has under theirs, as a C library's functions do, and the program's blocks that
 * reach loam's free go to the program's.
 *
 * So it does in a program that the option `aside` lists, where the malloc behind loam, mostly the
 * C library's, takes the place of the program's: what calls loam's functions by the public names
 * gets that one's blocks. loam has blocks of its own only from before the options were read. */
#ifndef LM_API_ASIDE_H
#define LM_API_ASIDE_H

#include "api/override.h"
#include "base/atomic.h"

/* 1: the loader decides whose malloc it is. Whoever links loam in has decided himself. */
#if LM_SHARED && LM_POSIX_NAMES && defined(__linux__)
#define LM_STEPS_ASIDE 1
#else
#define LM_STEPS_ASIDE 0
#endif

/* LM_ASIDE_OPERATORS: it is not, but the program has operators new and delete of its own. */
enum lm_aside {
  LM_ASIDE_NO,
  LM_ASIDE_OPERATORS,
  LM_ASIDE_YES,
  LM_ASIDE_LISTED,
  LM_ASIDE_UNKNOWN
};
/* Becomes known with the first call of whoever asks; LM_ASIDE_NO from the start where loam never
 * steps aside. LM_ASIDE_LISTED comes when options are read, and releases what is behind loam to who
 * acquires it. `loam verify` reads it. */
extern _Atomic(uint32_t) lm_aside;

#if LM_STEPS_ASIDE

/* The family's own functions, whatever the loader finds under their names. */
void *lm_own_malloc(size_t size);
void lm_own_free(void *block);
void *lm_own_calloc(size_t count, size_t size);
void *lm_own_realloc(void *block, size_t size);
size_t lm_own_malloc_usable_size(void *block);
/* The function under valloc's public name. */
void *lm_public_valloc(size_t size);

bool lm_aside_find(void);
/* Of cxx.c. */
bool lm_program_has_operators(void);

LM_INLINE bool lm_is_aside(void) {
  return LM_UNLIKELY(lm_load_relaxed(&lm_aside) != LM_ASIDE_NO) && lm_aside_find();
}
LM_INLINE bool lm_is_listed(void) {
  return LM_UNLIKELY(lm_load_acquire(&lm_aside) == LM_ASIDE_LISTED);
}

/* Steps aside if the option lists the program. No lock is held. */
void lm_aside_start_by_options(void);
/* In a program that is listed: a block of the malloc behind loam; zero if `clear`. */
void *lm_aside_take_behind(size_t size, bool clear);

/* ---- While loam is aside. What is false has done nothing: loam is to do it. ---- */

/* A block of the program's, or NULL if it gives none; false if it has no function for that. */
bool lm_aside_take(size_t alignment, size_t size, void **block);
/* As the program's own call of free. */
void lm_aside_free(void *block);
/* The same of a block that is not loam's; false if the program gives it back to loam. */
bool lm_aside_free_foreign(void *block);
bool lm_aside_realloc_foreign(void *block, size_t size, void **result);
bool lm_aside_size_foreign(void *block, size_t *bytes);

#else

#define lm_public_valloc loam_valloc
LM_UNUSED LM_INLINE bool lm_is_aside(void) { return false; }
LM_UNUSED LM_INLINE bool lm_is_listed(void) { return false; }
LM_UNUSED LM_INLINE void lm_aside_start_by_options(void) {}
LM_UNUSED LM_INLINE void *lm_aside_take_behind(size_t size, bool clear) {
  (void)size, (void)clear;
  return NULL;
}
LM_UNUSED LM_INLINE void lm_aside_free(void *block) { (void)block; }
LM_UNUSED LM_INLINE bool lm_aside_take(size_t alignment, size_t size, void **block) {
  (void)alignment, (void)size, (void)block;
  return false;
}
LM_UNUSED LM_INLINE bool lm_aside_free_foreign(void *block) {
  (void)block;
  return false;
}
LM_UNUSED LM_INLINE bool lm_aside_realloc_foreign(void *block, size_t size, void **result) {
  (void)block, (void)size, (void)result;
  return false;
}
LM_UNUSED LM_INLINE bool lm_aside_size_foreign(void *block, size_t *bytes) {
  (void)block, (void)bytes;
  return false;
}

#endif
#endif
