#include "os/lock.h"

#include "os/os.h"
#include "os/panic.h"

#define LM_LOCK_SPIN_COUNT 100

void lm_lock_take_slow(struct lm_lock *lock) {
  if (lm_os.cpu_count > 1) {
    for (int spin = 0; spin < LM_LOCK_SPIN_COUNT; spin++) {
      uint32_t expected = 0;
      lm_cpu_pause();
      if (lm_load_relaxed(&lock->state) == 0 && lm_cas_acquire(&lock->state, &expected, 1))
        return;
    }
  }
  lm_os_notice_copy();
  /* 2 from here on: whoever frees it must wake one of us, and the one woken passes that on. */
  while (lm_exchange_acquire(&lock->state, 2) != 0) lm_os_wait(&lock->state, 2);
}

void lm_lock_free_slow(struct lm_lock *lock) { lm_os_wake_one(&lock->state); }

#if LM_CHECKING
LM_THREAD_LOCAL uint32_t lm_held_ranks = 0; /* bit r: this thread holds a lock of rank r */
#endif

void lm_lock_rank_check(uint32_t rank, bool taken) {
#if LM_CHECKING
  uint32_t bit = (uint32_t)1 << rank;
  if (taken) {
    lm_assert((LM_THREAD(lm_held_ranks) & ~(bit - 1)) == 0);
    LM_THREAD(lm_held_ranks) |= bit;
  } else {
    lm_assert((LM_THREAD(lm_held_ranks) & bit) != 0);
    LM_THREAD(lm_held_ranks) &= ~bit;
  }
#else
  (void)rank;
  (void)taken;
#endif
}
