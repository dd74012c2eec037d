#include "os/lock.h"

#include "os/os.h"
#include "os/panic.h"

#define LM_LOCK_SPIN_COUNT 100
/* Who sleeps looks so often whether the one that it waits for is ending the program. */
#define LOOKS_EVERY_MS 500

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
  uint64_t began_ms = lm_os_clock_ms();
  while (lm_exchange_acquire(&lock->state, 2) != 0) {
    lm_os_wait(&lock->state, 2, LOOKS_EVERY_MS);
    lm_end_if_in_vain(began_ms);
  }
}

/* Written by whoever wants the call, taken by whoever makes it. */
static _Atomic(uintptr_t) called_when_freed;

bool lm_lock_call_when_freed(struct lm_lock *lock, void (*function)(void)) {
  uint32_t held = 1;
  lm_store_release(&called_when_freed, (uintptr_t)function);
  /* As if somebody slept: then freeing it is the slow path. */
  return lm_cas_acquire(&lock->state, &held, 2) || held == 2;
}

void lm_lock_free_slow(struct lm_lock *lock) {
  lm_os_wake_one(&lock->state);
  if (LM_LIKELY(lm_load_relaxed(&called_when_freed) == 0)) return;
  uintptr_t function = lm_exchange_acquire(&called_when_freed, 0);
  if (function != 0) ((void (*)(void))function)();
}

#if LM_CHECKING
LM_THREAD_LOCAL uint32_t lm_held_ranks = 0; /* bit r: this thread holds a lock of rank r */
#endif

void lm_lock_check_rank(uint32_t rank) {
#if LM_CHECKING
  lm_assert(LM_THREAD(lm_held_ranks) >> rank == 0 || LM_THREAD(lm_thread_ends_program));
#else
  (void)rank;
#endif
}

void lm_lock_note_rank(uint32_t rank, bool held) {
#if LM_CHECKING
  lm_assert((LM_THREAD(lm_held_ranks) >> rank & 1) == !held || LM_THREAD(lm_thread_ends_program));
  LM_THREAD(lm_held_ranks) ^= (uint32_t)1 << rank;
#else
  (void)rank;
  (void)held;
#endif
}
