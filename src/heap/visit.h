/* Visits: what a thread's heap keeps while the thread sleeps, other threads give back.
 *
 * Only its thread works on a heap, and takes no lock for that. But its slow paths enter the heap
 * and leave it again, with plain stores. A heap that has not seen a tick for a while, and that its
 * thread is not in, is parked by somebody else's tick. Whoever parks orders all processors
 * (lm_os_order_all) between saying so and looking who is in: then either he sees that the thread is
 * in, or the thread, when it next enters, sees that its heap is parked, and takes it back with a
 * compare-and-swap. Until then ticks of any thread may visit it.
 *
 * What fast paths work on without entering is left alone: bins, what they may take, the watch. */
#ifndef LM_HEAP_VISIT_H
#define LM_HEAP_VISIT_H

#include "heap/heap.h"

/* Of lm_visits.parked. */
enum lm_parked {
  LM_NOT_PARKED,
  LM_PARKED,
  LM_VISITED, /* somebody is at work on it */
  LM_AWAITED, /* the same, and its thread sleeps until that is done */
};

/* The heap is parked, or about to be: takes it back, and waits for a visit to end. */
void lm_heap_take_back(struct lm_heap *heap);

/* The calling thread, which has the heap, begins to work on more than the fast paths do. May be
 * nested. */
LM_INLINE void lm_heap_enter(struct lm_heap *heap) {
  struct lm_visits *visits = &heap->visits;
  lm_own_add_relaxed(&visits->entered, 1);
  lm_order_compiled();
  if (LM_UNLIKELY(lm_load_word(&visits->parked) != LM_NOT_PARKED)) lm_heap_take_back(heap);
}
LM_INLINE void lm_heap_leave(struct lm_heap *heap) {
  lm_own_add_release(&heap->visits.entered, -1u);
}

/* The same where the processor need not wait for what the last call has stored, which is worth it
 * where most frees come by. False, with the heap not entered, if it is already, or is parked. */
LM_INLINE bool lm_heap_enter_alone(struct lm_heap *heap) {
  struct lm_visits *visits = &heap->visits;
  if (LM_UNLIKELY(lm_load_word(&visits->entered) != 0)) return false;
  lm_store_relaxed(&visits->entered, 1);
  lm_order_compiled();
  if (LM_LIKELY(lm_load_word(&visits->parked) == LM_NOT_PARKED)) return true;
  lm_store_relaxed(&visits->entered, 0);
  return false;
}
LM_INLINE void lm_heap_leave_at_last(struct lm_heap *heap) {
  lm_store_release(&heap->visits.entered, 0);
}

/* A step of a round through what no running thread looks after: orphans, and the heaps of threads
 * that sleep. It takes all of `*effort` (provider.h), if one is due. False once there is nothing
 * more to do for a while. */
bool lm_visit_some(uint64_t now_ms, size_t *effort);

/* Gives back at once what can be reached of orphans, of heaps without a thread and of all others
 * but the caller's. Returns whether holes were made. */
bool lm_visit_all_to_trim(void);

/* On lines of their own: any tick may write to the first. */
extern struct lm_visits_round {
  /* One thread at a time visits. Held across a fork, so that the child has no heap that is being
   * visited. */
  struct lm_lock lock;
  size_t step_count; /* under the lock: that the visit may take as one; then, that it has taken */
  /* About what orphans and parked heaps kept, in the last round, that rounds will give back.
   * Written under the lock where it changes, read by whoever asks whether much is kept. */
  LM_CACHE_ALIGNED _Atomic(size_t) kept_bytes;
} lm_visits_round;

#endif
