/* The calling thread's cache: how the thread comes to have it and leaves it, and ordinary blocks of
 * it, which are neither guarded nor samples of a profile. Of these, allocate.c makes what malloc
 * and free do, and profile.c what a sample stands for. */
#ifndef LM_API_THIS_CACHE_H
#define LM_API_THIS_CACHE_H

#include "thread/cache.h"

/* Starts loam if that has not happened: any thread, any time. process.c */
void lm_process_start(void);

/* The thread's cache, made if there is none yet. NULL if out of memory, or if it has ended or could
 * not be. */
struct lm_cache *lm_cache_of_thread_slow(void);
LM_INLINE struct lm_cache *lm_cache_of_thread(void) {
  struct lm_cache *cache = LM_THREAD(lm_this_cache);
  return LM_LIKELY(!lm_cache_is_empty(cache)) ? cache : lm_cache_of_thread_slow();
}
/* The thread ends, and has no cache from here on. */
void lm_cache_leave_thread(void);

/* Lets the calling thread take the slow path with each call, if the option fill asks for it. */
void lm_fill_watch(void);
/* One of the thread's next blocks is to be guarded, if the cache is its own: its next call takes
 * the slow path. */
void lm_guard_soon(const struct lm_cache *cache);

/* A block of this cache, which is the calling thread's; NULL if out of memory. `size` is at most
 * LM_REQUEST_MAX_BYTES. */
void *lm_take(struct lm_cache *cache, size_t size, bool clear);
#define LM_REQUEST_MAX_BYTES (PTRDIFF_MAX - LM_REGION_BYTES)

/* Frees a small block of no first-class heap's that the program has not got. */
void lm_small_give(struct lm_block *block, size_t class_index, void *caller);
/* The same of any such block when its list takes no more: the class's, or none yet. */
void lm_small_give_slow(struct lm_block *block, size_t class_index, void *caller);

#endif
