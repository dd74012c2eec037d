/* What a heap learns from what it gives back, of spans (spares.h) and of middle blocks (middle.h):
 * when most of what was used is given back, and then asked for again, as much is worth keeping the
 * next time. What a program uses goes up and down a little at all times: nothing is learnt from
 * that. Counts are of slices or of pages. */
#ifndef LM_HEAP_LEARNING_H
#define LM_HEAP_LEARNING_H

#include "base/atomic.h"
#include "base/bits.h"
#include "base/compiler.h"
#include "config/options.h"

/* What is used has fallen when so small a part of the peak is left. */
#define LM_LEARNING_FALL_FRACTION 8

struct lm_learning {
  size_t used_peak;    /* what was used at most in the last while */
  bool fell;           /* to a fraction of that, or the sentinel has said so */
  size_t given_count;  /* given back since then, and not asked for again */
  size_t learnt_count; /* so much, used or kept, is worth keeping */
};

LM_INLINE void lm_learning_note_used(struct lm_learning *learning, size_t used_count) {
  if (LM_LIKELY(used_count <= learning->used_peak)) return;
  learning->used_peak = used_count;
  learning->given_count = 0;
  learning->fell = false;
}

/* `used_count` is what is left. Returns whether that has just fallen. */
LM_INLINE bool lm_learning_note_given(struct lm_learning *learning, size_t used_count,
                                      size_t count) {
  learning->given_count += count;
  bool falls = !learning->fell && used_count < learning->used_peak / LM_LEARNING_FALL_FRACTION;
  learning->fell |= falls;
  return falls;
}

/* So much is asked for that was not kept. A count stands for 1 << `shift` bytes. A heap may learn
 * so much of spans as the option heap_cache_bytes says, and as much of middle blocks; what all keep
 * is bounded by budget.h. */
LM_INLINE void lm_learning_note_asked(struct lm_learning *learning, size_t count, unsigned shift) {
  if (LM_LIKELY(!learning->fell)) return;
  size_t most = LM_OPTION(heap_cache_bytes) >> shift;
  size_t again = lm_min(learning->given_count, count);
  learning->given_count -= again;
  learning->learnt_count = lm_min(learning->learnt_count + again, most);
}

/* A new while begins. */
LM_INLINE void lm_learning_tick(struct lm_learning *learning, size_t used_count) {
  learning->used_peak = used_count;
  learning->given_count = 0;
  learning->fell = false;
}

#endif
