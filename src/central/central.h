/* A central heap: what all threads share, one for each processor, so that they seldom meet. By
 * class it has a depot of lists, which threads' caches give and take, and the spans that blocks are
 * cut from. First-class heaps have one each, for themselves.
 *
 * All of it is reached by whoever calls, under the central's lock, which only slow paths take: no
 * memory waits for a thread that sleeps or has ended. No more is done under the lock at a time than
 * LM_CENTRAL_BLOCKS_AT_ONCE blocks take; the system is asked for nothing under it, but to commit
 * the pages that blocks are carved of where a purge decommits.
 *
 * (Rejected: spans that belong to threads. They need an inbox for what others free, and somebody
 * who looks after them while their thread sleeps, and after its end.) */
#ifndef LM_CENTRAL_CENTRAL_H
#define LM_CENTRAL_CENTRAL_H

#include "base/atomic.h"
#include "config/options.h"
#include "os/lock.h"
#include "pages/pool.h"
#include "pages/span.h"
#include "sizeclass/sizeclass.h"

/* Processors beyond share the others' centrals. */
#define LM_CENTRAL_MAX 512

/* Blocks that are put or taken under a lock at a time. A cold one takes up to 100 nanoseconds. */
#define LM_CENTRAL_BLOCKS_AT_ONCE 256

/* Smaller blocks stay with their central: those of another's share cache lines with what others
 * have, and to write to them would take the line away each time. */
#define LM_ELSEWHERE_MIN_BYTES (2 * LM_CACHE_LINE_BYTES)

/* Under the central's lock, but for what others read to see whether there may be lists. */
struct lm_central_class {
  struct lm_block *lists;      /* the depot: linked by lm_list_next; NULL ends it */
  _Atomic(uint32_t) list_count;
  _Atomic(uint32_t) lowest_count; /* of lists, since they were last aged */
  uint16_t list_limit;         /* so many whole ones it may have; 0: LM_DEPOT_LISTS_FIRST */
  bool asked;                  /* blocks have been asked for since some were given or put back */
  uint32_t listed_max;         /* blocks in the depot's lists, at most */
  uint32_t free_count;         /* blocks on the free lists of spans */
  uint32_t refused_count;      /* blocks that the depot had no room for, and not asked for since */
  struct lm_span *kept;        /* an empty span that is usable, or NULL */
  struct lm_span_list usable, roomy, full; /* by state */
};

struct lm_central {
  struct lm_lock lock;
  uint32_t index;       /* in lm_centrals; of a first-class heap 0 */
  uint32_t tag_bits;    /* LM_TAG_FIRST_CLASS, or 0 */
  struct lm_pool *pool; /* written under the lock, and only while the central has no spans */
  size_t depot_bytes;   /* about what is in all lists; under the lock */
  uint32_t away_count;  /* spans whose state is LM_SPAN_AWAY, new ones not counted; the same */
  uint64_t put_key;     /* a secret; central/put.c */
  uint32_t take_count;  /* of calls that took blocks off a span's free_list; under the lock */
#if LM_HARDENED_ANY
  uint64_t random; /* lm_central_random; 0: not begun. Under the lock */
#endif
  struct lm_central_class classes[LM_BIN_COUNT]; /* of middle ones the depot only */
};

/* The processors' own. Made when the first thread needs one, and never given back. Stored with a
 * release that pairs with the acquire of lm_central_at. */
extern _Atomic(struct lm_central *) lm_centrals[LM_CENTRAL_MAX];
extern uint32_t lm_central_count; /* of processors; constant after lm_central_start */
extern struct lm_lock lm_centrals_lock; /* while one is made */

void lm_central_start(void);

/* What the caches of all threads together may keep: by default a little for each processor, whose
 * threads take and free at the same time, and on small machines as much as makes lists long. */
#define LM_CACHES_BYTES (16 * LM_MIB)
#define LM_CACHES_BYTES_PER_CENTRAL (4 * LM_MIB)
LM_INLINE size_t lm_caches_bytes(void) {
  size_t bytes = LM_OPTION(heap_cache_bytes);
  if (LM_UNLIKELY(bytes != LM_CACHE_AUTO)) return bytes;
  return lm_max(LM_CACHES_BYTES, LM_CACHES_BYTES_PER_CENTRAL * lm_central_count);
}

/* The one with that index, modulo their number; NULL if there is none and no memory to make it. */
struct lm_central *lm_central_at(uint32_t index);
/* The same if it has been made; else NULL. */
LM_INLINE struct lm_central *lm_central_if_made(uint32_t index) {
  return lm_load_acquire(&lm_centrals[index]);
}

/* Of a central whose memory is all zero. */
void lm_central_init(struct lm_central *central, uint32_t index, uint32_t rank, uint32_t tag_bits,
                     struct lm_pool *pool);

/* Takes the central's lock, or, if somebody has it, that of one of the next ones where nobody has,
 * and returns whose that is. */
struct lm_central *lm_central_enter(struct lm_central *central);
LM_INLINE void lm_central_leave(struct lm_central *central) LM_FREES(central->lock);
LM_LOCKS_UNCHECKED LM_INLINE void lm_central_leave(struct lm_central *central) {
  lm_lock_free(&central->lock);
}

#if LM_HARDENED_ANY
/* A number that nobody foresees who does not know the central. The lock is held. */
LM_INLINE uint64_t lm_central_random(struct lm_central *central) {
  if (LM_UNLIKELY(central->random == 0)) central->random = lm_os_random() | 1;
  central->random ^= central->random << 13;
  central->random ^= central->random >> 7;
  central->random ^= central->random << 17;
  return central->random >> 16;
}
#endif

/* ---- Which centrals have something ---- */

/* Words by class that say in which centrals there is something: a bit for each, or for each of
 * those that are as many as a word has bits apart. Set by who puts it there, with the central's
 * lock; cleared with that by who looks in vain, so that a bit that goes on and off costs nobody a
 * shared line. Where several centrals share a bit it may be cleared though another has something,
 * which is found again when more is put there. Read by who has found nothing in his own central,
 * and must not rely on it. */
extern _Atomic(uintptr_t) lm_central_words[LM_BIN_COUNT]; /* free_count is a list's or more */
extern _Atomic(uintptr_t) lm_depot_words[LM_BIN_COUNT];   /* the depot has lists */
LM_INLINE void lm_central_note(_Atomic(uintptr_t) *word, const struct lm_central *central) {
  uintptr_t bit = (uintptr_t)1 << central->index % (8 * sizeof bit);
  if ((lm_load_relaxed(word) & bit) == 0) lm_or_relaxed(word, bit);
}
LM_INLINE void lm_central_unnote(_Atomic(uintptr_t) *word, const struct lm_central *central) {
  uintptr_t bit = (uintptr_t)1 << central->index % (8 * sizeof bit);
  lm_and_relaxed(word, ~bit);
}
/* The index of the next central after `*place` that the word names, going round from the caller's
 * own; LM_CENTRAL_MAX if all have been named. `*place` begins with 0. */
uint32_t lm_central_next_noted(uintptr_t word, const struct lm_central *own, uint32_t *place);

/* A walk over those: begins with the word that was read, and 0. */
struct lm_central_walk {
  uintptr_t noted;
  uint32_t place;
  struct lm_central *busy; /* the first one whose lock somebody had */
};
/* Takes the lock of the next one, of those first whose lock nobody has; where all that is left was
 * busy it waits for the first of them, as what is there is better than more memory. NULL: all have
 * been entered, but other busy ones. */
struct lm_central *lm_central_enter_next(struct lm_central_walk *walk,
                                         const struct lm_central *own);

#endif
