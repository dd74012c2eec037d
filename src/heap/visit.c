#include "heap/visit.h"

#include "config/options.h"
#include "heap/orphan.h"
#include "heap/transfer.h"
#include "os/os.h"
#include "os/panic.h"

struct lm_visits_round lm_visits_round = {.lock = LM_LOCK_INIT(LM_RANK_VISITS), .step_count = 1};

/* ---- The heap's thread ---- */

LM_NOINLINE void lm_heap_take_back(struct lm_heap *heap) {
  struct lm_visits *visits = &heap->visits;
  /* Parked amid a slow path: who did that sees so, and takes it back himself. */
  if (lm_load_relaxed(&visits->entered) > 1) return;
  for (;;) {
    lm_store_release(&visits->entered, 0);
    uint32_t parked = LM_PARKED;
    if (lm_cas_acquire(&visits->parked, &parked, LM_NOT_PARKED) || parked == LM_NOT_PARKED) {
      lm_store_relaxed(&visits->entered, 1);
      lm_order_compiled();
      if (lm_load_relaxed(&visits->parked) == LM_NOT_PARKED) return;
      continue; /* parked once more */
    }
    if (parked == LM_VISITED && !lm_cas_acquire(&visits->parked, &parked, LM_AWAITED)) continue;
    lm_os_notice_copy(); /* where nobody visits: lm_heap_after_fork */
    lm_os_wait(&visits->parked, LM_AWAITED);
  }
}

/* Not where pages come from the program's callbacks: these may allocate, and the lock of visits is
 * none that they may be called under. To order all threads takes a system call that is for nothing
 * else. */
static bool can_visit(void) {
  return LM_OPTION(system_calls) == LM_SYSTEM_CALLS_ALL && lm_os_can_order_all() &&
         lm_load_relaxed(&lm_pools[0].provider) == NULL;
}

/* ---- Parking ---- */

#define HEAPS_PER_STEP 32 /* looked at, each perhaps a cache miss; parked at once */

struct candidates {
  struct lm_heap *heaps[HEAPS_PER_STEP];
  size_t count;
};

LM_REQUIRES(lm_visits_round.lock) static void park(const struct candidates *candidates) {
  if (candidates->count == 0) return;
  for (size_t i = 0; i < candidates->count; i++)
    lm_store_relaxed(&candidates->heaps[i]->visits.parked, LM_PARKED);
  bool ordered = lm_os_order_all();
  for (size_t i = 0; i < candidates->count; i++) {
    struct lm_visits *visits = &candidates->heaps[i]->visits;
    uint32_t parked = LM_PARKED;
    visits->left = LM_VISITS_OF_PARKED;
    /* Pairs with the release of lm_heap_leave. */
    if (!ordered || lm_load_acquire(&visits->entered) != 0)
      lm_cas_acquire(&visits->parked, &parked, LM_NOT_PARKED);
  }
}

typedef bool heap_visitor(struct lm_heap *heap, uint64_t now_ms);

/* Returns what the visitor does; false if the heap's thread has taken it back. */
LM_REQUIRES(lm_visits_round.lock)
static bool visit_parked(struct lm_heap *heap, heap_visitor *visit, uint64_t now_ms) {
  struct lm_visits *visits = &heap->visits;
  uint32_t parked = LM_PARKED;
  if (!lm_cas_acquire(&visits->parked, &parked, LM_VISITED)) return false;
  lm_assert(!visits->underway);
  visits->underway = true;
  bool result = visit(heap, now_ms);
  visits->underway = false;
  if (lm_exchange_release(&visits->parked, LM_PARKED) == LM_AWAITED)
    lm_os_wake_one(&visits->parked);
  return result;
}

/* ---- Rounds ---- */

static bool round_goes_on LM_GUARDED_BY(lm_visits_round.lock);
static bool transfers_go_on LM_GUARDED_BY(lm_visits_round.lock);
static bool orphans_go_on LM_GUARDED_BY(lm_visits_round.lock);
static uint64_t round_ms LM_GUARDED_BY(lm_visits_round.lock);         /* when it began */
static struct lm_heap *next_heap LM_GUARDED_BY(lm_visits_round.lock); /* of the round */
/* Steps that the time which has passed is worth. */
static uint64_t steps_left LM_GUARDED_BY(lm_visits_round.lock);
/* As lm_visits_round.kept_bytes, of what the round has been through. */
static size_t kept_so_far LM_GUARDED_BY(lm_visits_round.lock);

/* Less than a thread that makes calls takes from one tick to the next. */
static bool is_away(const struct lm_heap *heap, uint64_t now_ms) {
  uint32_t ticked_ms = lm_load_relaxed(&heap->ticked_ms);
  return can_visit() && (uint32_t)now_ms - ticked_ms >= 2 * lm_heap_tick_interval_ms();
}

/* After so many visits nothing that time gives back is left, but what others send. */
static bool is_worth_it(struct lm_heap *heap) {
  struct lm_visits *visits = &heap->visits;
  if (visits->left == 0 && lm_load_relaxed(&heap->inbox) != NULL) visits->left = 1;
  return visits->left != 0;
}

/* Of those that the step looks at. */
LM_REQUIRES(lm_visits_round.lock) static void park_some(uint64_t now_ms) {
  struct candidates candidates = {.count = 0};
  struct lm_heap *heap = next_heap;
  for (size_t i = 0; i < HEAPS_PER_STEP && heap != NULL; i++, heap = heap->next_made) {
    if (is_away(heap, now_ms) && lm_load_relaxed(&heap->visits.parked) == LM_NOT_PARKED &&
        lm_load_relaxed(&heap->visits.entered) == 0)
      candidates.heaps[candidates.count++] = heap;
  }
  park(&candidates);
}

LM_REQUIRES(lm_visits_round.lock) static void step_through_heaps(uint64_t now_ms) {
  park_some(now_ms);
  for (size_t i = 0; i < HEAPS_PER_STEP && next_heap != NULL; i++) {
    struct lm_heap *heap = next_heap;
    bool visits = is_away(heap, now_ms) && lm_load_relaxed(&heap->visits.parked) == LM_PARKED &&
                  is_worth_it(heap);
    if (visits && visit_parked(heap, lm_heap_visit, now_ms)) return; /* there is more to do */
    next_heap = heap->next_made;
    if (!visits) continue;
    kept_so_far += heap->visits.kept_bytes;
    return;
  }
  lm_visits_round.step_count = 1; /* nothing to visit */
}

LM_REQUIRES(lm_visits_round.lock) static void begin_visits(uint64_t now_ms) {
  if (round_goes_on || now_ms - round_ms < lm_heap_tick_interval_ms()) return;
  round_goes_on = orphans_go_on = true;
  round_ms = now_ms;
  next_heap = lm_load_acquire(&lm_heaps_made);
  transfers_go_on = lm_transfer_begin_round();
  lm_orphan_begin_round(now_ms);
  kept_so_far = 0;
}

/* A step takes some tens of microseconds, and up to a millisecond where it frees much. There is one
 * for each millisecond that passes, so that all together take a small part of the time however many
 * threads there are. Those of a rest may be made in the calls that follow it, each of which visits
 * one heap, and takes some as one. */
#define STEPS_MAX 2000
#define STEPS_PER_CALL 8

LM_REQUIRES(lm_visits_round.lock) static void step(uint64_t now_ms) {
  bool heaps_go_on = !transfers_go_on && !orphans_go_on;
  lm_visits_round.step_count = heaps_go_on ? (size_t)lm_min(steps_left, STEPS_PER_CALL) : 1;
  if (transfers_go_on) transfers_go_on = lm_transfer_look();
  else if (orphans_go_on) orphans_go_on = lm_orphan_look(now_ms, &kept_so_far);
  else step_through_heaps(now_ms);
  steps_left -= lm_visits_round.step_count;
  round_goes_on = orphans_go_on || next_heap != NULL;
  if (!round_goes_on && lm_load_relaxed(&lm_visits_round.kept_bytes) != kept_so_far)
    lm_store_relaxed(&lm_visits_round.kept_bytes, kept_so_far);
}

LM_REQUIRES(lm_visits_round.lock) static bool may_step(uint64_t now_ms) {
  static uint64_t earned_ms;
  steps_left = lm_min(steps_left + (now_ms - earned_ms), STEPS_MAX);
  earned_ms = now_ms;
  return steps_left != 0;
}

bool lm_visit_some(uint64_t now_ms, size_t *effort) {
  if (LM_OPTION(purge_delay_ms) == 0 || !lm_lock_try(&lm_visits_round.lock)) return false;
  begin_visits(now_ms);
  bool steps = round_goes_on && may_step(now_ms);
  if (steps) {
    step(now_ms);
    *effort = 0;
  }
  bool more = steps && round_goes_on;
  lm_lock_free(&lm_visits_round.lock);
  return more;
}

/* Returns whether the visitor does of any. */
LM_REQUIRES(lm_visits_round.lock) static bool visit_all(heap_visitor *visit) {
  bool any = false;
  struct lm_heap *heap = can_visit() ? lm_load_acquire(&lm_heaps_made) : NULL;
  while (heap != NULL) {
    struct lm_heap *first = heap;
    struct candidates candidates = {.count = 0};
    for (; heap != NULL && candidates.count < HEAPS_PER_STEP; heap = heap->next_made) {
      bool idle = lm_load_relaxed(&heap->visits.parked) == LM_NOT_PARKED &&
                  lm_load_relaxed(&heap->visits.entered) == 0;
      if (idle) candidates.heaps[candidates.count++] = heap;
    }
    park(&candidates);
    for (; first != heap; first = first->next_made)
      any |= visit_parked(first, visit, 0);
  }
  return any;
}

bool lm_visit_all_to_trim(void) {
  while (lm_heap_end_oldest_kept(0)) {}
  lm_lock_take(&lm_visits_round.lock);
  lm_transfer_send_all();
  visit_all(lm_heap_visit_to_send); /* what one has of another's, the other gives back */
  bool holes = visit_all(lm_heap_visit_to_trim);
  lm_lock_free(&lm_visits_round.lock);
  return lm_orphan_make_holes() != 0 || holes;
}
