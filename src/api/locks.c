#include "api/locks.h"

#include "api/checking.h"
#include "api/sampled.h"
#include "central/shared.h"
#include "large/owned.h"
#include "os/os.h"
#include "pages/huge.h"
#include "pages/mappings.h"
#include "pages/meta.h"
#include "profile/samples.h"
#include "report/report.h"
#include "thread/tick.h"

struct lm_lock lm_start_lock = LM_LOCK_INIT(LM_RANK_START);

static void for_each_lock(void (*visit)(struct lm_lock *lock)) {
  visit(&lm_start_lock);
#if LM_CHECKING
  visit(&lm_quarantine_lock);
#endif
  visit(&lm_tick_lock);
  visit(&lm_caches_lock);
  visit(&lm_centrals_lock); /* no central is made from here on */
  for (uint32_t i = 0; i < lm_central_count; i++)
    if (lm_central_if_made(i) != NULL) visit(&lm_central_if_made(i)->lock);
  visit(&lm_owned_lock);
  visit(&lm_huge_lock);
  for (size_t i = 0; i < LM_POOL_MAX; i++) visit(&lm_pools[i].lock);
  visit(&lm_profile_lock);
  visit(&lm_sampled_lock);
  visit(&lm_meta_lock);
  visit(&lm_mappings_lock);
  visit(&lm_tags_lock);
#if defined(__linux__)
  visit(&lm_unwind_lock);
#endif
}

/* Without the check of ranks: many of one rank are held here. */
static void take_quietly(struct lm_lock *lock) {
  uint32_t expected = 0;
  if (!lm_cas_acquire(&lock->state, &expected, 1)) lm_lock_take_slow(lock);
}
static void free_quietly(struct lm_lock *lock) {
  if (lm_exchange_release(&lock->state, 0) == 2) lm_lock_free_slow(lock);
}

void lm_locks_take_all(void) {
  take_quietly(&lm_report_lock);
  take_quietly(&lm_shared_heaps_lock); /* the list stands still from here on */
  lm_shared_for_each_lock(take_quietly);
  for_each_lock(take_quietly);
}

static void for_all_locks(void (*visit)(struct lm_lock *lock)) {
  for_each_lock(visit);
  lm_shared_for_each_lock(visit);
  visit(&lm_shared_heaps_lock);
  visit(&lm_report_lock);
}

void lm_locks_free_all(void) { for_all_locks(free_quietly); }
void lm_locks_reset_all(void) { for_all_locks(lm_lock_reset); }

/* ---- Locks that an interrupted thread may hold ---- */

static _Atomic(struct lm_lock *) held_lock; /* one of those found held */

static void note_held(struct lm_lock *lock) {
  if (lm_load_relaxed(&lock->state) != 0) lm_store_relaxed(&held_lock, lock);
}

bool lm_locks_call_when_free(void (*function)(void)) {
  for (;;) {
    lm_store_relaxed(&held_lock, NULL);
    for_all_locks(note_held);
    struct lm_lock *held = lm_load_relaxed(&held_lock);
    if (held == NULL) return false;
    if (lm_lock_call_when_freed(held, function)) return true;
  }
}
