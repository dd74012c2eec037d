/* What a heap gives back: by the clock, in others' visits, and on demand. */
#include "config/options.h"
#include "heap/bins.h"
#include "heap/budget.h"
#include "heap/holes.h"
#include "heap/inspect.h"
#include "heap/large_cache.h"
#include "heap/middle.h"
#include "heap/orphan.h"
#include "heap/remote.h"
#include "heap/span_life.h"
#include "heap/spares.h"
#include "heap/valid.h"
#include "heap/visit.h"
#include "heap/watch.h"
#include "pages/pressure.h"

/* ---- By the clock ---- */

/* A span may have pages that were used before and that it does not need for long: they go back once
 * it has not grown for a while. */
static void purge_unused(struct lm_heap *heap, struct lm_span *span) {
  bool grows = span->extended_count != span->extended_count_seen;
  span->extended_count_seen = span->extended_count;
  if (grows || LM_OPTION(purge_delay_ms) == 0 || lm_refusals_last(&heap->tick.refusals)) return;
  size_t used = span->extended_count * lm_classes[span->class_index].block_bytes;
  uint64_t used_pages = lm_bitmap_mask(0, 0, lm_pages_of(used));
  if ((span->dirty_pages & ~used_pages) == 0) return;
  if (lm_region_of(span)->decommits) span->carve_limit = span->extended_count;
  char *start = lm_span_start(span), *end = start + ((size_t)span->slice_count << LM_SLICE_SHIFT);
  bool taken = lm_pool_purge_unused(start + used, end);
  lm_refusals_note(&heap->tick.refusals, taken);
  if (!taken) return;
  span->dirty_pages &= used_pages;
  span->written_pages &= used_pages;
}

/* Gives the class's current span back if all its blocks are free, else what it does not use. */
static void trim_current(struct lm_heap *heap, size_t class_index) {
  struct lm_span *span = heap->current[class_index];
  if (span == NULL) return;
  if (span->used_count != 0) {
    purge_unused(heap, span);
    return;
  }
  heap->current[class_index] = NULL;
  lm_heap_drop_span(heap, span);
  lm_span_end(span);
}

/* What a reserve has held since the last tick malloc has not needed: it goes into the spans, some
 * of which may become empty. */
static void trim_class(struct lm_heap *heap, size_t class_index) {
  if (lm_bitmap_test(heap->seen_reserves, class_index)) {
    lm_bin_start_draining(heap, class_index);
  } else {
    lm_bin_age(heap, class_index);
    if (heap->reserves[class_index] == NULL) lm_bin_end_guests(heap, class_index);
    else lm_bitmap_set(heap->seen_reserves, class_index, class_index + 1);
  }
  trim_current(heap, class_index);
}

/* So that a thread which falls asleep has in its bins, which nobody else reaches, only what it has
 * freed last, or malloc has taken out of reserves. */
#define BINS_AGE_MS 32
static void age_bins(struct lm_heap *heap, uint64_t now_ms) {
  if (now_ms - heap->tick.bins_aged_ms < BINS_AGE_MS) return;
  heap->tick.bins_aged_ms = now_ms;
  for (size_t i = 1; i < LM_CLASS_COUNT; i++) lm_bin_age(heap, i);
}

#define PRESSED_TICK_MS 8
uint64_t lm_heap_tick_interval_ms(void) {
  uint64_t ms = 1 + LM_OPTION(purge_delay_ms) / 4;
  return lm_pressed(LM_PRESSURE_SOME) ? lm_min((size_t)ms, PRESSED_TICK_MS) : ms;
}

/* Nothing is worth keeping while memory is short: the next ticks and frees give it back. */
static void keep_nothing(struct lm_heap *heap) {
  lm_heap_drain_all(heap);
  lm_large_cache_retire(heap);
  heap->spares.surplus_count = heap->spares.count;
}

/* Each may cost a cache miss. */
#define INSPECTED_PER_TICK 32

#define POOL_VALIDATED_EVERY 8 /* ticks, about */

/* In the checking build the heap checks itself, and now and then its pool. */
static void validate(const struct lm_heap *heap, uint64_t now_ms) {
#if LM_CHECKING
  lm_heap_validate(heap);
  if (now_ms % POOL_VALIDATED_EVERY == 0) lm_pool_validate(heap->pool);
#else
  (void)heap;
  (void)now_ms;
#endif
}

static LM_NOINLINE void tick_slow(struct lm_heap *heap, uint64_t now_ms) {
  validate(heap, now_ms);
  lm_middle_tick(heap, now_ms - heap->tick.last_ms);
  lm_large_cache_tick(heap);
  heap->tick.last_ms = now_ms;
  lm_refusals_end_round(&heap->tick.refusals);
  lm_store_relaxed(&heap->ticked_ms, (uint32_t)now_ms);
  if (heap->tick.trim_class >= LM_CLASS_COUNT) heap->tick.trim_class = 0;
  lm_spares_tick(heap);
  if (lm_pressed(LM_PRESSURE_SOME)) keep_nothing(heap);
  lm_budget_tick(heap);
  lm_remote_flush(heap);
  lm_inspect_heap(heap, now_ms % LM_CLASS_COUNT, INSPECTED_PER_TICK);
  heap->tick.ends_kept = heap->tick.turns_pools = heap->tick.visits_others = true;
  lm_holes_begin_round(&heap->holes);
}

/* How much one tick may do, so that no single call pays for all: about a hundredth of the time that
 * has passed since the clock was last seen. */
struct effort {
  size_t class_count;   /* looked through */
  size_t message_count; /* taken out of the inbox */
  size_t drained_count; /* blocks put back into their spans */
  size_t spare_count;   /* spans given back */
};
#define TRIM_CLASSES_PER_TICK 32
#define SPARES_PER_TICK 8
/* A thread that has not seen the clock for so long rests; the clock goes on by up to 10. */
#define REST_MIN_MS 12
/* Some 200 nanoseconds for each message, 40 for each block, and 1 microsecond for each span. */
#define MESSAGES_PER_REST_MS 8
#define DRAINED_PER_REST_MS 128
#define SPARES_PER_REST_MS 2
#define REST_MS_MAX 64

static struct effort effort_after(uint64_t elapsed_ms) {
  if (elapsed_ms >= REST_MIN_MS) {
    size_t ms = (size_t)lm_min(elapsed_ms, REST_MS_MAX);
    return (struct effort){LM_CLASS_COUNT, ms * MESSAGES_PER_REST_MS, ms * DRAINED_PER_REST_MS,
                           ms * SPARES_PER_REST_MS};
  }
  size_t drained_count = elapsed_ms != 0 ? LM_DRAINED_FAST : LM_DRAINED_BY_CALL;
  return (struct effort){TRIM_CLASSES_PER_TICK, LM_MESSAGES_PER_CALL, drained_count,
                         SPARES_PER_TICK};
}

/* What ticks leave to the next ones: each may take all that a call may (provider.h). */
enum job {
  CLEAR_MIDDLE,
  CLEAR_LARGE,
  MAKE_HOLES,
  TURN_POOLS,
  VISIT_OTHERS,
  END_KEPT,
  JOB_COUNT
};

bool lm_heap_ticks_left_any(const struct lm_heap *heap) {
  return heap->middle.ages || heap->large_cache.surplus != 0 || lm_holes_may_go_on(&heap->holes) ||
         heap->tick.turns_pools || heap->tick.visits_others || heap->tick.ends_kept;
}

static bool end_kept(size_t *effort) {
  size_t kept_ms = lm_pressed(LM_PRESSURE_SOME) ? 0 : LM_OPTION(purge_delay_ms);
  bool ended = lm_heap_end_oldest_kept(kept_ms);
  if (ended) *effort = 0; /* it takes as much itself, at most */
  return ended;
}

/* If it is left. */
static void do_some(struct lm_heap *heap, enum job job, uint64_t now_ms, size_t *effort) {
  switch (job) {
    case CLEAR_MIDDLE:
      lm_middle_go_on(heap, effort);
      break;
    case CLEAR_LARGE:
      lm_large_cache_release(heap, effort);
      break;
    case MAKE_HOLES:
      lm_holes_go_on_in_heap(heap, effort);
      break;
    case TURN_POOLS:
      if (heap->tick.turns_pools) heap->tick.turns_pools = lm_pool_tick(now_ms, effort);
      break;
    case VISIT_OTHERS:
      if (heap->tick.visits_others) heap->tick.visits_others = lm_visit_some(now_ms, effort);
      break;
    default:
      if (heap->tick.ends_kept) heap->tick.ends_kept = end_kept(effort);
  }
}

/* Whether the job does not stop where the effort does. */
static bool takes_all(const struct lm_heap *heap, enum job job) {
  return (job == VISIT_OTHERS && heap->tick.visits_others) ||
         (job == END_KEPT && heap->tick.ends_kept);
}

/* Each has its turn, as far as the effort of one call does. */
static LM_NOINLINE void go_on(struct lm_heap *heap, uint64_t now_ms) {
  size_t effort = lm_purge_effort();
  for (int i = 0; i < JOB_COUNT && effort != 0; i++) {
    enum job job = (enum job)((heap->tick.last_job + 1) % JOB_COUNT);
    /* The next call begins with one that would take more than is left. */
    if (effort != lm_purge_effort() && takes_all(heap, job)) return;
    heap->tick.last_job = (uint8_t)job;
    do_some(heap, job, now_ms, &effort);
  }
}

/* One of the next calls of malloc, not always the first one after a look at the clock. */
#define GUARD_SKIP_BITS 4
static LM_COLD void plan_guard(struct lm_heap *heap, uint64_t now_ms) {
  if (now_ms - heap->guard.last_ms < LM_OPTION(guard_ms)) return;
  heap->guard.last_ms = now_ms;
  heap->guard.skips = (uint8_t)lm_hash((uintptr_t)now_ms ^ heap->tag, GUARD_SKIP_BITS);
  heap->guard.soon = true;
}

/* `always`: frees may look at the clock though time stands still. */
static void tick_and_drain(struct lm_heap *heap, bool always) {
  if (heap->tick.underway) return;
  lm_heap_enter(heap);
  heap->tick.underway = true;
  uint64_t now_ms = lm_os_clock_ms(), elapsed_ms = now_ms - heap->watch.seen_ms;
  struct effort effort = effort_after(elapsed_ms);
  bool rises = lm_pressure_tick(now_ms);
  if (now_ms - heap->tick.last_ms >= lm_heap_tick_interval_ms() || rises) tick_slow(heap, now_ms);
  for (size_t i = 0; i < effort.class_count && heap->tick.trim_class < LM_CLASS_COUNT; i++)
    trim_class(heap, heap->tick.trim_class++);
  age_bins(heap, now_ms);
  if (lm_remote_waits(heap)) lm_remote_collect_up_to(heap, effort.message_count);
  if (heap->drain.goes_on) lm_bins_drain(heap, effort.drained_count);
  lm_spares_give_surplus(heap, effort.spare_count);
  lm_holes_earn(&heap->holes, elapsed_ms);
  if (lm_heap_ticks_left_any(heap)) go_on(heap, now_ms);
  if (always || elapsed_ms != 0) {
    lm_watch_clock(heap, now_ms);
    if (LM_UNLIKELY(LM_OPTION(guard_ms) != 0)) plan_guard(heap, now_ms);
  }
  heap->tick.underway = false;
  lm_heap_leave(heap);
}

void lm_heap_tick(struct lm_heap *heap) { tick_and_drain(heap, true); }

void lm_heap_tick_often(struct lm_heap *heap) { tick_and_drain(heap, false); }

/* ---- Visits, of others' ---- */

static void begin_visit(struct lm_heap *heap, uint64_t now_ms, uint64_t elapsed_ms) {
  heap->visits.visited_ms = now_ms;
  heap->visits.left--;
  lm_refusals_end_round(&heap->tick.refusals);
  lm_middle_tick(heap, elapsed_ms);
  lm_large_cache_tick(heap);
  lm_spares_tick(heap);
  lm_budget_tick(heap);
  for (size_t i = 1; i < LM_CLASS_COUNT; i++) {
    trim_current(heap, i);
    lm_bin_retire_current(heap, i);
  }
  lm_holes_begin_round(&heap->holes);
}

#define PARTS_PER_STEP 8
bool lm_heap_visit(struct lm_heap *heap, uint64_t now_ms) {
  uint64_t elapsed_ms = now_ms - lm_max(heap->visits.visited_ms, heap->tick.last_ms);
  bool begins = elapsed_ms >= lm_heap_tick_interval_ms();
  if (begins) begin_visit(heap, now_ms, elapsed_ms);
  lm_remote_flush(heap);
  size_t effort = lm_purge_effort();
  size_t parts = lm_visits_round.step_count * PARTS_PER_STEP;
  bool more = lm_remote_collect_within(heap, parts, &effort);
  more |= lm_bins_empty_within(heap, parts, &effort);
  if (!more) {
    lm_spares_give_surplus(heap, SPARES_PER_TICK);
    more = !lm_large_cache_release(heap, &effort);
    lm_middle_go_on(heap, &effort);
  }
  size_t taken = 1 + (lm_purge_effort() - effort) / (2 * PARTS_PER_STEP * LM_STEP_EFFORT);
  lm_visits_round.step_count = lm_min(lm_visits_round.step_count, taken);
  lm_holes_earn(&heap->holes, begins ? elapsed_ms : 0);
  bool holes = lm_holes_go_on_in_heap(heap, &effort);
  heap->visits.kept_bytes = lm_watch_kept_bytes(heap);
  return more || holes || heap->spares.surplus_count != 0 || heap->middle.ages;
}

/* ---- On demand ---- */

static void send_all(struct lm_heap *heap) {
  lm_bins_empty(heap, SIZE_MAX);
  lm_middle_release(heap, SIZE_MAX);
  lm_remote_flush(heap);
}

static bool trim(struct lm_heap *heap) {
  send_all(heap);
  lm_remote_collect(heap);
  for (size_t i = 1; i < LM_CLASS_COUNT; i++) trim_current(heap, i);
  lm_spares_trim(heap);
  lm_middle_trim(heap);
  lm_large_cache_trim(heap);
  return lm_holes_make_all(heap) != 0;
}

bool lm_heap_visit_to_send(struct lm_heap *heap, uint64_t unused) {
  (void)unused;
  send_all(heap);
  return false;
}

bool lm_heap_visit_to_trim(struct lm_heap *heap, uint64_t unused) {
  (void)unused;
  return trim(heap);
}

void lm_heap_send_all(struct lm_heap *heap) {
  lm_heap_enter(heap);
  send_all(heap);
  lm_heap_leave(heap);
}

bool lm_heap_trim(struct lm_heap *heap) {
  lm_heap_enter(heap);
  bool holes = trim(heap);
  lm_heap_leave(heap);
  return holes;
}
