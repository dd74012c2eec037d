#include "thread/tick.h"

#include "central/depot.h"
#include "central/holes.h"
#include "central/spans.h"
#include "config/options.h"
#include "os/os.h"
#include "os/panic.h"
#include "pages/huge.h"
#include "pages/pressure.h"
#include "pages/purge.h"
#include "thread/idle.h"
#include "thread/inspect.h"
#include "thread/lists.h"
#include "thread/valid.h"

struct lm_lock lm_tick_lock = LM_LOCK_INIT(LM_RANK_TICK);

/* A round goes through all classes of all centrals, a part of it with each call. Under the lock. */
static struct turn {
  uint64_t began_ms;
  uint64_t earned_ms;   /* up to when its credit has grown */
  size_t credit;        /* of effort, but for what pools take */
  uint32_t central, class_index; /* whose turn it is */
  uint16_t number;      /* of this round or the last trim; 0: of spans that were not looked at */
  bool inherits;        /* what it finds is shared with the process's parent */
} turn LM_GUARDED_BY(lm_tick_lock) = {.central = LM_CENTRAL_MAX};
/* Whether a round is under way or may be due: written under the lock, read by who may look. */
static _Atomic(uint32_t) began_ms; /* the clock's lower half */
static _Atomic(bool) underway;
/* Of the process that has looked last; 0: none has. The same. */
static _Atomic(uint32_t) copy_number;

/* With purge_delay_ms=never no page goes back by the clock, but lists of depots go home. */
#define UNPURGED_TICK_MS 128
#define PRESSED_TICK_MS 8
uint64_t lm_tick_interval_ms(void) {
  size_t delay_ms = LM_OPTION(purge_delay_ms);
  uint64_t ms = delay_ms != 0 ? 1 + delay_ms / 4 : UNPURGED_TICK_MS;
  return lm_pressed(LM_PRESSURE_SOME) ? lm_min((size_t)ms, PRESSED_TICK_MS) : ms;
}

static struct lm_pressure_held count_held(void) {
  struct lm_pressure_held held = {0, lm_huge_bytes()};
  for (unsigned i = 0; i < lm_pool_count; i++) {
    size_t page_count = lm_load_relaxed(&lm_pools[i].used_page_count);
    page_count += lm_load_relaxed(&lm_pools[i].dirty_page_count);
    held.region_bytes += page_count << lm_os.page_shift;
  }
  return held;
}

/* ---- A round ---- */

/* So much effort rounds may take, some 5 percent of the time, of a while at most. */
#define CREDIT_PER_MS 128
#define CREDIT_MAX_MS 2000

LM_REQUIRES(lm_tick_lock) static void earn(uint64_t now_ms) {
  uint64_t elapsed_ms = lm_min(now_ms - turn.earned_ms, CREDIT_MAX_MS);
  turn.earned_ms = now_ms;
  turn.credit = lm_min(turn.credit + (size_t)elapsed_ms * CREDIT_PER_MS,
                        (size_t)CREDIT_MAX_MS * CREDIT_PER_MS);
}

LM_REQUIRES(lm_tick_lock) static uint16_t next_number(void) {
  if (++turn.number == 0) turn.number = 1;
  return turn.number;
}

LM_REQUIRES(lm_tick_lock) static void begin_turn(uint64_t now_ms, bool inherits) {
  turn.began_ms = now_ms;
  turn.central = 0;
  turn.class_index = 1;
  next_number();
  turn.inherits = inherits;
  lm_store_relaxed(&began_ms, (uint32_t)now_ms);
  lm_store_relaxed(&underway, true);
}

/* One class of a central. Returns whether there is more of it. */
static bool turn_class(struct lm_central *central, size_t class_index, uint16_t number,
                       bool inherits, size_t *effort) {
  size_t page_count = 0;
  if (!inherits && lm_depot_age(central, class_index, lm_pressed(LM_PRESSURE_SOME), effort))
    return true;
  if (!lm_class_is_small(class_index)) return false;
  if (!lm_central_end_empty(central, class_index, lm_pressed(LM_PRESSURE_SOME))) return false;
  if (!inherits && LM_OPTION(purge_delay_ms) == 0) return false; /* a trim still finds them */
  return lm_holes_look(central, class_index, number, inherits ? LM_HOLES_NONE : LM_HOLES_DUE,
                       effort, &page_count);
}

/* Classes that are passed by cost as much as a page that is purged. */
#define CLASSES_PER_EFFORT 16

LM_REQUIRES(lm_tick_lock) static void go_on(size_t *effort) {
  size_t passed = 0;
  lm_assert(turn.class_index < LM_BIN_COUNT);
  while (*effort != 0 && turn.central < lm_central_count) {
    struct lm_central *central = lm_central_if_made(turn.central);
    if (central != NULL &&
        turn_class(central, turn.class_index, turn.number, turn.inherits, effort))
      continue;
    if (++passed % CLASSES_PER_EFFORT == 0) lm_spend_effort(effort, 1);
    if (central != NULL && ++turn.class_index < LM_BIN_COUNT) continue;
    turn.class_index = 1;
    turn.central++;
  }
  if (turn.central >= lm_central_count) lm_store_relaxed(&underway, false);
}

/* Whether this process is a child in which nobody has looked. Its first round begins at once, and
 * passes by all it finds: what the child itself has changed meanwhile, too. */
LM_REQUIRES(lm_tick_lock) static bool notice_fork(void) {
  uint32_t before = lm_load_relaxed(&copy_number), number = lm_os_copy_number();
  lm_store_relaxed(&copy_number, number);
  return before != 0 && number != before;
}

/* What it costs that a cache which rests gives up its lists. */
#define IDLE_EFFORT 8

/* Does what is due, as far as one call may; `idle`: also beyond the time that rounds may take.
 * Returns whether there is more. */
static bool step(uint64_t now_ms, bool idle) {
  size_t effort = lm_purge_effort();
  bool more = lm_pool_tick(now_ms, &effort);
  bool due = (uint32_t)now_ms - lm_load_relaxed(&began_ms) >= lm_tick_interval_ms();
  bool seen = lm_load_relaxed(&copy_number) == lm_os_copy_number();
  if (LM_LIKELY(seen) && !due && !lm_load_relaxed(&underway)) return more;
  if (!lm_lock_try(&lm_tick_lock)) return false; /* somebody else does it */
  earn(now_ms);
  bool free = idle || lm_pressed(LM_PRESSURE_MUCH);
  size_t most = free ? effort : lm_min(effort, turn.credit), left = most;
  if (notice_fork()) {
    begin_turn(now_ms, true);
  } else if (!lm_load_relaxed(&underway) && due) {
    begin_turn(now_ms, false);
    if (lm_idle_age(now_ms, lm_pressed(LM_PRESSURE_SOME))) lm_spend_effort(&left, IDLE_EFFORT);
  }
  go_on(&left);
  lm_assert(left <= most && turn.credit <= (size_t)CREDIT_MAX_MS * CREDIT_PER_MS);
  turn.credit -= lm_min(turn.credit, most - left);
  more |= lm_load_relaxed(&underway) && (idle || turn.credit != 0);
  lm_lock_free(&lm_tick_lock);
  return more;
}

/* ---- Who looks at the clock ---- */

#define EVENTS_PER_LOOK 8
/* Each look costs some 20 nanoseconds. */
#define LOOKS_PER_MS 4
#define LOOKS_MAX 1024
/* A process that holds less has nothing to give back. */
#define LOOK_MIN_BYTES (512 * LM_KIB)

static bool is_worth_a_look(const struct lm_cache *cache) {
  const struct lm_pool *pool = cache->central->pool;
  size_t page_count = lm_load_relaxed(&pool->used_page_count);
  page_count += lm_load_relaxed(&pool->dirty_page_count);
  return page_count << lm_os.page_shift >= LOOK_MIN_BYTES || lm_load_relaxed(&underway);
}

/* The thread's next malloc looks, too. */
static void look_again(struct lm_cache *cache) {
  if (cache->clock.looks_left == 0 || LM_THREAD(lm_malloc_cache) != cache) return;
  if (is_worth_a_look(cache)) LM_THREAD(lm_malloc_cache) = &lm_empty_cache;
}

/* One of the next calls of malloc, not always the first one after a look at the clock. */
#define GUARD_SKIP_BITS 4
static LM_COLD void plan_guard(struct lm_cache *cache, uint64_t now_ms) {
  if (now_ms - cache->guard.last_ms < LM_OPTION(guard_ms)) return;
  cache->guard.last_ms = now_ms;
  cache->guard.skips = (uint8_t)lm_hash((uintptr_t)now_ms ^ (uintptr_t)cache, GUARD_SKIP_BITS);
  cache->guard.soon = true;
}

/* Each block may cost a cache miss. */
#define INSPECTED_AT_ONCE 32
#define INSPECTION_MS 100

#if LM_CHECKING
#define POOL_VALIDATED_EVERY 16
/* The cache, and some of what it asks: a class of its central, and now and then the pool. */
static void validate(struct lm_cache *cache, uint64_t now_ms) {
  lm_cache_validate(cache);
  lm_central_validate_class(cache->central, 1 + now_ms % (LM_BIN_COUNT - 1));
  if (now_ms % POOL_VALIDATED_EVERY == 0) lm_pool_validate(cache->central->pool);
}
#else
static void validate(struct lm_cache *cache, uint64_t now_ms) {
  (void)cache;
  (void)now_ms;
}
#endif

void lm_tick(struct lm_cache *cache) {
  uint64_t now_ms = lm_os_clock_ms(), elapsed_ms = now_ms - cache->clock.seen_ms;
  bool rises = lm_pressure_tick(now_ms, count_held);
  cache->clock.seen_ms = now_ms;
  size_t looks = cache->clock.looks_left + (size_t)lm_min(elapsed_ms, LOOKS_MAX) * LOOKS_PER_MS;
  cache->clock.looks_left = (uint32_t)lm_max(lm_min(looks, LOOKS_MAX), 1);
  if (elapsed_ms != 0) {
    lm_cache_age(cache, elapsed_ms);
    if (now_ms - cache->clock.inspected_ms >= INSPECTION_MS) {
      cache->clock.inspected_ms = now_ms;
      lm_inspect_cache(cache, now_ms % LM_CLASS_COUNT, INSPECTED_AT_ONCE);
      validate(cache, now_ms);
    }
    if (LM_UNLIKELY(LM_OPTION(guard_ms) != 0)) plan_guard(cache, now_ms);
  }
  if (rises) lm_cache_flush(cache);
  if (elapsed_ms != 0 || lm_load_relaxed(&underway)) step(now_ms, false);
  look_again(cache);
}

void lm_tick_event(struct lm_cache *cache) {
  if (++cache->clock.event_count % EVENTS_PER_LOOK == 0) lm_tick(cache);
}

void lm_tick_look(struct lm_cache *cache) {
  if (cache->clock.looks_left != 0) cache->clock.looks_left--;
  if (lm_os_clock_ms() != cache->clock.seen_ms || lm_load_relaxed(&underway)) lm_tick(cache);
  else look_again(cache);
}

void lm_tick_background(void) {
  uint64_t now_ms = lm_os_clock_ms();
  lm_pressure_tick(now_ms, count_held);
  while (step(now_ms, false)) {}
}

/* So much of a cache's age at a time is one class or two. */
#define IDLE_AGE_MS (LM_CACHE_AGE_MS / LM_BIN_COUNT)

bool lm_tick_idle(struct lm_cache *cache, uint64_t ms) {
  uint64_t end_us = lm_os_clock_us() + ms * 1000, age_ms = lm_min(ms, LM_CACHE_AGE_MS);
  bool more = true;
  while (more && lm_os_clock_us() < end_us) {
    more = step(lm_os_clock_ms(), true) || age_ms != 0;
    lm_cache_age(cache, lm_min(age_ms, IDLE_AGE_MS));
    age_ms -= lm_min(age_ms, IDLE_AGE_MS);
  }
  return more;
}

/* ---- On demand ---- */

typedef size_t class_function(struct lm_central *central, size_t class_index, uint16_t number);

/* These return how many pages went. Under the lock, so that no fork finds a span away. */
LM_REQUIRES(lm_tick_lock) static size_t trim_depot(struct lm_central *central, size_t class_index,
                                                   uint16_t unused) {
  size_t effort = SIZE_MAX;
  (void)unused;
  lm_depot_age(central, class_index, true, &effort);
  return 0;
}

LM_REQUIRES(lm_tick_lock) static size_t trim_spans(struct lm_central *central, size_t class_index,
                                                   uint16_t number) {
  size_t page_count = 0, effort = SIZE_MAX;
  if (!lm_class_is_small(class_index)) return 0;
  lm_central_end_empty(central, class_index, true);
  lm_holes_look(central, class_index, number, LM_HOLES_ALL, &effort, &page_count);
  return page_count;
}

static size_t for_each_class(class_function *function, uint16_t number) {
  size_t sum = 0;
  for (uint32_t i = 0; i < lm_central_count; i++) {
    struct lm_central *central = lm_central_if_made(i);
    for (size_t k = 1; k < LM_BIN_COUNT && central != NULL; k++) {
      lm_lock_take(&lm_tick_lock);
      sum += function(central, k, number);
      lm_lock_free(&lm_tick_lock);
    }
  }
  return sum;
}

/* Lists go home first: a depot has blocks of other centrals' spans, too. */
bool lm_tick_trim(size_t keep_bytes) {
  lm_lock_take(&lm_tick_lock);
  uint16_t number = next_number();
  while (lm_idle_age(0, true)) {}
  lm_lock_free(&lm_tick_lock);
  for_each_class(trim_depot, number);
  bool any = for_each_class(trim_spans, number) != 0;
  return lm_pool_trim(keep_bytes) || any;
}
