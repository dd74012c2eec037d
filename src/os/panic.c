#include "os/panic.h"

#include "base/atomic.h"
#include "os/os.h"

LM_THREAD_LOCAL bool lm_thread_ends_program = false;
/* Written by whoever ends the program, read by whoever waits for a lock; pairs with nothing. */
static _Atomic(bool) somebody_ends;

/* Of the ending thread itself, which nobody else keeps waiting so long; and of others, for which
 * its handler may be waiting. */
#define OWN_WAIT_MS 1000
#define OTHERS_WAIT_MS 30000

void lm_end_if_in_vain(uint64_t began_ms) {
  if (LM_LIKELY(!lm_load_relaxed(&somebody_ends))) return;
  uint64_t most_ms = LM_THREAD(lm_thread_ends_program) ? OWN_WAIT_MS : OTHERS_WAIT_MS;
  if (lm_os_clock_ms() - began_ms >= most_ms) lm_os_abort(false);
}

void lm_panic(struct lm_text *text) {
  bool tells = !LM_THREAD(lm_thread_ends_program); /* or the handler has made a mistake */
  LM_THREAD(lm_thread_ends_program) = true;
  lm_store_relaxed(&somebody_ends, true);
  if (text->length == text->capacity) text->length--;
  lm_text_char(text, '\n');
  lm_os_write(2, text->bytes, text->length);
  lm_os_abort(tells);
}

void lm_assert_failed(const char *expression, const char *file, int line) {
  LM_TEXT(text, 512);
  lm_text_string(&text, "loam: internal error: ");
  lm_text_string(&text, expression);
  lm_text_string(&text, " does not hold in ");
  lm_text_string(&text, file);
  lm_text_string(&text, ":");
  lm_text_number(&text, (uint64_t)line);
  lm_panic(&text);
}
