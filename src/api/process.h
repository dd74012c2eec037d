/* What all locks of the process are asked for. */
#ifndef LM_API_PROCESS_H
#define LM_API_PROCESS_H

#include "base/compiler.h"

/* If any lock is held, has whoever frees one call the function, and returns true. */
bool lm_process_call_when_unlocked(void (*function)(void));

#endif
