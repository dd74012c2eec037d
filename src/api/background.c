#include "api/background.h"

#include "config/options.h"
#include "os/os.h"
#include "thread/lifetime.h"
#include "thread/tick.h"

#define RESTING_MS 500 /* while nothing goes back by itself; the program may change that */

_Atomic(uint32_t) lm_background_due;
/* Written at the process's end, read by the thread; pairs with nothing. */
static _Atomic(bool) ends;

static bool is_wanted(void) { return LM_OPTION(background) == LM_BACKGROUND_ON; }

static void note_due(void) { lm_store_relaxed(&lm_background_due, 1); }

static void run_background(void) {
  while (!lm_load_relaxed(&ends) && !lm_cache_no_thread_has_any(note_due)) {
    bool works = is_wanted() && LM_OPTION(purge_delay_ms) != 0;
    if (works) lm_tick_background();
    lm_os_sleep_ms(works ? (uint32_t)lm_tick_interval_ms() : RESTING_MS);
  }
}

void lm_background_start(void) {
  if (lm_exchange_acquire(&lm_background_due, 0) != 0) lm_os_start_thread(run_background);
}

bool lm_background_start_later(void) {
  if (is_wanted()) note_due();
  return is_wanted();
}

void lm_background_end(void) { lm_store_relaxed(&ends, true); }
