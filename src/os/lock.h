/* A lock that spins briefly and then sleeps, with a rank.
 *
 * A thread takes locks in rising rank only. The checking build ends the program when one does
 * not; the fork handlers take all locks in that order. docs/locks.md lists them. */
#ifndef LM_OS_LOCK_H
#define LM_OS_LOCK_H

#include "base/atomic.h"
#include "base/compiler.h"

enum lm_lock_rank {
  LM_RANK_REPORT = 1,   /* the text of statistics */
  LM_RANK_SHARED_HEAPS, /* the list of first-class heaps */
  LM_RANK_SHARED_HEAP, /* one first-class heap */
  LM_RANK_OWN_POOL,    /* the regions of a first-class heap with a page provider */
  LM_RANK_START,       /* process start */
  LM_RANK_QUARANTINE,
  LM_RANK_TICK,      /* who does what the clock asks for */
  LM_RANK_CACHES,    /* the list of threads' caches */
  LM_RANK_CENTRALS,  /* while a central is made */
  LM_RANK_CENTRAL,   /* the central of one processor */
  LM_RANK_OWNED,     /* the table of first-class heaps' large blocks */
  LM_RANK_HUGE,      /* the table of huge blocks */
  LM_RANK_POOL,      /* the regions of one pool */
  LM_RANK_PROFILE,   /* the samples of a profile */
  LM_RANK_SAMPLED,   /* which places for sampled guarded blocks wait */
  LM_RANK_META,      /* memory for our own records */
  LM_RANK_MAPPINGS,  /* mappings kept for the next huge blocks */
  LM_RANK_TAGS,      /* which regions there are, against giving up the table of tags */
  LM_RANK_UNWIND,    /* what is known of modules' frames */
};

struct LM_IS_LOCK lm_lock {
  /* 0 free, 1 held, 2 held and somebody sleeps. Written by whoever takes or frees the lock;
   * the exchange that takes pairs with the exchange that frees. */
  _Atomic(uint32_t) state;
  uint32_t rank;
};

#define LM_LOCK_INIT(rank) {0, (rank)}

void lm_lock_take_slow(struct lm_lock *lock);
void lm_lock_free_slow(struct lm_lock *lock);
/* The checking build's: that a lock of the rank may be taken; that it has been, or is about to be
 * freed. A signal's handler takes locks if none is held: so a rank counts as held no longer than
 * its lock is. */
void lm_lock_check_rank(uint32_t rank);
void lm_lock_note_rank(uint32_t rank, bool held);

LM_INLINE void lm_lock_take(struct lm_lock *lock) LM_TAKES(lock);
/* False, at once, if somebody holds it. */
LM_INLINE bool lm_lock_try(struct lm_lock *lock) LM_TAKES_IF_TRUE(lock);
LM_INLINE void lm_lock_free(struct lm_lock *lock) LM_FREES(lock);

LM_LOCKS_UNCHECKED LM_INLINE void lm_lock_take(struct lm_lock *lock) {
  if (LM_CHECKING) lm_lock_check_rank(lock->rank);
  uint32_t expected = 0;
  if (LM_UNLIKELY(!lm_cas_acquire(&lock->state, &expected, 1))) lm_lock_take_slow(lock);
  if (LM_CHECKING) lm_lock_note_rank(lock->rank, true);
}

LM_LOCKS_UNCHECKED LM_INLINE bool lm_lock_try(struct lm_lock *lock) {
  uint32_t expected = 0;
  if (lm_load_relaxed(&lock->state) != 0 || !lm_cas_acquire(&lock->state, &expected, 1))
    return false;
  if (LM_CHECKING) lm_lock_check_rank(lock->rank), lm_lock_note_rank(lock->rank, true);
  return true;
}

LM_LOCKS_UNCHECKED LM_INLINE void lm_lock_free(struct lm_lock *lock) {
  if (LM_CHECKING) lm_lock_note_rank(lock->rank, false);
  if (LM_UNLIKELY(lm_exchange_release(&lock->state, 0) == 2)) lm_lock_free_slow(lock);
}

/* Has whoever frees the lock next call the function; false if nobody holds it. One function for all
 * locks, one call for any number of these. */
bool lm_lock_call_when_freed(struct lm_lock *lock, void (*function)(void));

/* In the child of a fork: whoever held the lock is gone. */
LM_INLINE void lm_lock_reset(struct lm_lock *lock) { lm_store_relaxed(&lock->state, 0); }

#endif
