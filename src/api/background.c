#include "api/background.h"

#include "config/options.h"
#include "os/os.h"
#include "thread/tick.h"

#define RESTING_MS 500 /* while nothing goes back by itself; the program may change that */

bool lm_background_is_due;
/* Written at the process's end, read by the thread; pairs with nothing. */
static _Atomic(bool) ends;

bool lm_background_is_wanted(void) {
  return LM_OPTION(background) == LM_BACKGROUND_ON;
}

static void run_background(void) {
  while (!lm_load_relaxed(&ends) && !lm_os_is_last_thread()) {
    bool works = LM_OPTION(background) == LM_BACKGROUND_ON && LM_OPTION(purge_delay_ms) != 0;
    if (works) lm_tick_background();
    lm_os_sleep_ms(works ? (uint32_t)lm_tick_interval_ms() : RESTING_MS);
  }
}

void lm_background_start(void) {
  lm_background_is_due = false;
  if (!lm_background_is_wanted()) return;
  lm_os_start_thread(run_background);
}

void lm_background_end(void) { lm_store_relaxed(&ends, true); }
