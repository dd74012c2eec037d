#include "api/background.h"

#include "config/options.h"
#include "heap/orphan.h"
#include "heap/visit.h"
#include "heap/watch.h"
#include "os/os.h"
#include "pages/pressure.h"

#define RESTING_MS 500 /* while nothing goes back by itself; the program may change that */

bool lm_background_is_due;
/* Written at the process's end, read by the thread; pairs with nothing. */
static _Atomic(bool) ends;

static void tick_for_all(void) {
  uint64_t now_ms = lm_os_clock_ms();
  lm_pressure_tick(now_ms);
  while (lm_heap_end_oldest_kept(LM_OPTION(purge_delay_ms))) {}
  for (size_t effort = 1; lm_visit_some(now_ms, &effort);) {}
  for (bool more = true; more;) {
    size_t effort = lm_purge_effort();
    more = lm_pool_tick(now_ms, &effort);
  }
}

/* The threads' next calls look at the clock, by which some of their blocks are guarded. */
static bool call_for_guards(void) {
  bool guards = LM_OPTION(guard_ms) != 0;
  if (guards) lm_watch_call_all();
  return guards;
}

bool lm_background_is_wanted(void) {
  return LM_OPTION(background) == LM_BACKGROUND_ON || LM_OPTION(guard_ms) != 0;
}

static void run_background(void) {
  while (!lm_load_relaxed(&ends) && !lm_os_is_last_thread()) {
    bool works = LM_OPTION(background) == LM_BACKGROUND_ON && LM_OPTION(purge_delay_ms) != 0;
    if (works) tick_for_all();
    works |= call_for_guards();
    lm_os_sleep_ms(works ? (uint32_t)lm_heap_tick_interval_ms() : RESTING_MS);
  }
}

void lm_background_start(void) {
  lm_background_is_due = false;
  if (!lm_background_is_wanted()) return;
  lm_os_start_thread(run_background);
}

void lm_background_end(void) { lm_store_relaxed(&ends, true); }
