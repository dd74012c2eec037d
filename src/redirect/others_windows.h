/* The other threads of the process, stopped while code is written over. */
#ifndef LM_REDIRECT_OTHERS_WINDOWS_H
#define LM_REDIRECT_OTHERS_WINDOWS_H

#include "base/compiler.h"

#include <windows.h>

struct lm_others {
  HANDLE *threads; /* `count` that are stopped, or that are about to be */
  size_t count;
};

/* Stops all others where `is_in_way` says no of each one's next instruction; waits for that. False,
 * and nobody is stopped, where that does not come or a thread cannot be stopped. While they are, no
 * lock may be taken. In DllMain or a notification of the loader's, so that none begins. */
typedef bool lm_in_way(void *context, uintptr_t instruction);
bool lm_others_stop(struct lm_others *others, lm_in_way *is_in_way, void *context);
void lm_others_go(struct lm_others *others);

#endif
