/* Heap profiles: which calls of malloc are sampled, and how their frees are noticed.
 *
 * While a profile is taken, malloc finds blocks in a window: lists that are filled with a few of
 * the cache's blocks at a time, and that frees do not come back to. So each call takes one of a
 * number that is known, and the next sampled one finds the window empty: it is chosen without
 * counting any on the fast path. Such a call gets a block of a heap of the profile's own, whose
 * blocks free tells from others by their tags; a middle or large one is looked up when it is freed.
 * Without a profile there is no window, and none of this costs anything. */
#ifndef LM_API_PROFILE_H
#define LM_API_PROFILE_H

#include "api/guarded.h"
#include "profile/samples.h"
#include "thread/cache.h"

/* The mean distance of samples, in bytes; 0: no profile is taken. Written by any thread. */
extern _Atomic(uint32_t) lm_profile_bytes;
/* The same while the last profile was taken; 0: there was none. */
extern _Atomic(uint32_t) lm_profile_last_bytes;
LM_INLINE bool lm_profile_is_on(void) { return lm_load_relaxed(&lm_profile_bytes) != 0; }

#define LM_PROFILE_MIN_BYTES 16
#define LM_PROFILE_MAX_BYTES ((uint32_t)1 << 28)

/* What another process stores in lm_guarded_calls_left, which malloc's slow path looks at anyway,
 * to have a profile begin here: LM_PROFILE_ORDER and the mean distance of samples; without a
 * distance, to have it end. The first slow call of any thread obeys. */
#define LM_PROFILE_ORDER ((uint32_t)1 << 31)
void lm_profile_obey_slow(uint32_t order);
LM_INLINE void lm_profile_obey(void) {
  uint32_t word = lm_load_relaxed(&lm_guarded_calls_left);
  if (LM_UNLIKELY(word - LM_PROFILE_ORDER <= LM_PROFILE_MAX_BYTES)) lm_profile_obey_slow(word);
}

/* A block of the class that is no sample, and others in the window's list, which malloc has found
 * empty; NULL if it takes more than that. */
void *lm_profile_refill(struct lm_cache *lists, size_t class_index);

/* While a profile is taken: a block for the thread that has the cache, sampled or not. */
void *lm_profile_take(struct lm_cache *cache, size_t size, bool clear);
/* The same of one that has no class, by its alignment. */
void *lm_profile_take_large(struct lm_cache *cache, size_t size, size_t alignment, bool clear);

/* What is left in the thread's window is freed, and malloc takes from the cache again. */
void lm_profile_leave(struct lm_cache *cache);

/* The program frees a block of a first-class heap, or a large one. */
void lm_profile_freed_slow(void *block);
LM_INLINE void lm_profile_freed_large(void *block) {
  if (LM_UNLIKELY(lm_load_relaxed(&lm_profile_large_count) != 0)) lm_profile_freed_slow(block);
}
/* The profile's own, or NULL. Stored once, before any block of it is given out. */
extern _Atomic(struct loam_heap *) lm_profile_heap;
void lm_profile_freed_shared(void *block);

/* A middle or a large block has been resized, and counts as a new one. Returns it. */
void *lm_profile_resized(struct lm_cache *cache, void *block, size_t size);

/* At the process's start, and at its end; when a signal has asked for it. */
void lm_profile_start_by_options(void);
void lm_profile_end(void);
void lm_profile_write_by_options(void);

#endif
