#include "api/callbacks.h"

#include <errno.h>

#include "loam/loam.h"

#if defined(__linux__)

/* Written by the one thread that has set `callbacks_state` to SETTING; read by any that finds it
 * SET, with an acquire that pairs with the release of that thread. */
static struct loam_profile_callbacks callbacks;
enum { UNSET, SETTING, SET };
static _Atomic(uint32_t) callbacks_state = UNSET;

void lm_callbacks_taken(struct lm_profile_sample *sample) {
  sample->is_told = lm_load_acquire(&callbacks_state) == SET;
  if (LM_LIKELY(!sample->is_told)) return;
  int error = errno;
  sample->word = callbacks.taken(callbacks.context, sample->block, sample->bytes,
                                 (size_t)sample->weighted_bytes);
  errno = error;
}

void lm_callbacks_freed(void *word) {
  int error = errno;
  callbacks.freed(callbacks.context, word);
  errno = error;
}

LM_EXPORT int loam_profile_set_callbacks(const struct loam_profile_callbacks *wanted) {
  uint32_t unset = UNSET;
  if (wanted == NULL || wanted->taken == NULL || wanted->freed == NULL) return EINVAL;
  if (!lm_cas_acquire(&callbacks_state, &unset, SETTING)) return EBUSY;
  callbacks = *wanted;
  lm_store_release(&callbacks_state, SET);
  return 0;
}

#else

LM_EXPORT int loam_profile_set_callbacks(const struct loam_profile_callbacks *wanted) {
  (void)wanted;
  return ENOSYS;
}

#endif
