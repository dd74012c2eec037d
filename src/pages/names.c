#include "pages/names.h"

#include "config/options.h"
#include "os/os.h"

/* Written by the thread that makes the first region; read by any that maps something. */
static _Atomic(bool) start_has_ended;

static bool are_wanted(void) {
  size_t option = LM_OPTION(names);
  return option == LM_NAMES_ON || (option == LM_NAMES_START && !lm_load_relaxed(&start_has_ended));
}

void lm_names_give(enum lm_memory_kind kind, void *address, size_t size) {
  static const char *const names[] = {"loam:blocks", "loam:huge", "loam:records"};
  if (are_wanted()) lm_os_name(address, size, names[kind]);
}

void lm_names_end_start(void) { lm_store_relaxed(&start_has_ended, true); }
