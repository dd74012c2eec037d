/* What all heaps together keep of free memory: spares, middle blocks that are cached or free and
 * dirty, cached large blocks, and what is in bins when most has been freed. If a heap's thread
 * sleeps, others reach what it keeps only as they make calls (visit.h), and bins not at all; so
 * whatever a heap has learnt to need, it keeps more than a little only as long as all together keep
 * less than the budget, and memory is not short (pages/pressure.h). */
#ifndef LM_HEAP_BUDGET_H
#define LM_HEAP_BUDGET_H

#include "config/options.h"
#include "heap/heap.h"
#include "pages/pressure.h"

/* All together may keep what the option cache_bytes says. If that is `auto`, one heap may keep as
 * much as heap_cache_bytes says, and many together no more than this for each pool, of which there
 * is one for some processors. And a little each. */
#define LM_BUDGET_SHARED_BYTES (12 * LM_MIB)

/* The sum of what heaps have reported. Written by any heap that keeps LM_BUDGET_STEP_BYTES more
 * than it has reported, and by ticks; read by heaps that are about to keep something. It orders
 * nothing. */
extern _Atomic(size_t) lm_budget_kept_bytes;
#define LM_BUDGET_STEP_BYTES (256 * LM_KIB)

/* Reports what the heap keeps, if that is much more than it has reported. */
void lm_budget_report(struct lm_heap *heap);

/* Reports less, too. Not more often than by the clock: what goes up and down all the time should
 * not be written to a line that all processors share. */
void lm_budget_tick(struct lm_heap *heap);

/* The heap's thread has ended, and what it kept is kept by nobody, or counted elsewhere. */
void lm_budget_end(struct lm_heap *heap);

/* Whether the option cache_bytes is a number, and that is reached. */
LM_INLINE bool lm_budget_reaches_option(void) {
  size_t most = LM_OPTION(cache_bytes);
  return LM_UNLIKELY(most != LM_CACHE_AUTO) && lm_load_relaxed(&lm_budget_kept_bytes) >= most;
}

LM_INLINE bool lm_budget_exceeded(void) {
  if (lm_pressed(LM_PRESSURE_SOME)) return true;
  if (LM_UNLIKELY(LM_OPTION(cache_bytes) != LM_CACHE_AUTO)) return lm_budget_reaches_option();
  size_t kept_bytes = lm_load_relaxed(&lm_budget_kept_bytes);
  if (LM_LIKELY(kept_bytes <= LM_BUDGET_SHARED_BYTES * lm_pool_count)) return false;
  return (uint64_t)kept_bytes * lm_load_relaxed(&lm_pool_thread_count) >
         LM_OPTION(heap_cache_bytes);
}

#endif
