/* Visits: what a thread's heap keeps while the thread sleeps, other threads give back.
 *
 * Only its thread works on a heap, and takes no lock for that. But its slow paths enter the heap
 * and leave it again, with plain stores. A heap that has not seen a tick for a while, and that its
 * thread is not in, is parked by somebody else's tick. Whoever parks orders all processors
 * (lm_os_order_all) between saying so and looking who is in: then either he sees that the thread is
 * in, or the thread, when it next enters, sees that its heap is parked, and takes it back with a
 * compare-and-swap. Until then ticks of any thread may visit it.
 *
 * What fast paths work on without entering is left alone: bins, what they may take, chains, cached
 * middle blocks, the watch. */
#ifndef LM_HEAP_VISIT_H
#define LM_HEAP_VISIT_H

#include "heap/heap.h"
#include "os/panic.h"

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

/* The same where nothing is nested around it, and where it matters that the processor need not wait
 * for the last call's stores. False: the heap has to be taken back now. */
LM_INLINE bool lm_heap_enter_first(struct lm_heap *heap) {
  struct lm_visits *visits = &heap->visits;
  lm_assert(lm_load_relaxed(&visits->entered) == 0);
  lm_store_relaxed(&visits->entered, 1);
  lm_order_compiled();
  return lm_load_word(&visits->parked) == LM_NOT_PARKED;
}
LM_INLINE void lm_heap_leave_at_last(struct lm_heap *heap) {
  lm_store_release(&heap->visits.entered, 0);
}

/* A step of a round through what no running thread looks after: orphans, and the heaps of threads
 * that sleep. False once there is nothing more to do for a while. */
bool lm_visit_some(uint64_t now_ms);

/* About what orphans and parked heaps kept, in the last round, that rounds will give back. */
extern _Atomic(size_t) lm_visits_kept_bytes;

/* Gives back at once what can be reached of orphans, of heaps without a thread and of all others
 * but the caller's. Returns whether holes were made. */
bool lm_visit_all_to_trim(void);

/* One thread at a time visits. Held across a fork, so that the child has no heap that is being
 * visited. */
extern struct lm_lock lm_visits_lock;

#endif
