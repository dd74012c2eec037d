/* Slow paths look at the clock and into the inbox, and what is empty goes back in time. A thread
 * whose calls all take the fast paths would never do, and keep a past peak. So while its heap holds
 * much, frees take the slow path, where they look at the clock: as many as cost next to nothing. A
 * thread whose frees are far apart sees the clock with each. One that is busy enough to use up what
 * it is allowed looks where it finds a bin full, a slow path does, or a sender calls it (remote.c).
 * As long as much is free that time will give back, all bins are bounded, their rooms opened in
 * steps, and who finds one empty looks, too. */
#ifndef LM_HEAP_WATCH_H
#define LM_HEAP_WATCH_H

#include "heap/heap.h"

/* From a tick, which has seen that it is `now_ms`: frees watch from here on, or no longer. */
void lm_watch_clock(struct lm_heap *heap, uint64_t now_ms);

LM_INLINE bool lm_watches(const struct lm_heap *heap) {
  return lm_load_relaxed(&heap->free_tag) != heap->tag;
}

/* About what the heap keeps that only time gives back, but for middle blocks that it caches. */
size_t lm_watch_kept_bytes(const struct lm_heap *heap);

/* The next LM_INSPECT_FREES frees are looked at closely (inspect.h). */
void lm_watch_closely(struct lm_heap *heap);

/* A block has been freed while the heap watches. False if no more frees may look at the clock: then
 * the next malloc shall. */
bool lm_watch_free(struct lm_heap *heap);
void lm_watch_malloc(struct lm_heap *heap);

/* From any thread: the next frees of all threads look at the clock. */
void lm_watch_call_all(void);

/* A large block has gone to its pool: a thread that only frees such must see the clock, too. */
void lm_watch_large(struct lm_heap *heap);

/* Malloc has found a bin empty, or one was put back into its spans. */
void lm_watch_bin(struct lm_heap *heap);
/* Free has found one full. */
void lm_watch_full_bin(struct lm_heap *heap);

#endif
