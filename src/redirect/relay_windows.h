/* Memory with far jumps, near to functions from which near ones do not reach loam. */
#ifndef LM_REDIRECT_RELAY_WINDOWS_H
#define LM_REDIRECT_RELAY_WINDOWS_H

#include "base/compiler.h"

/* What is within reach of `from` and leads to `function`, which may be that itself; NULL if there
 * is no memory there, or none that may be executed. It stays as long as the process: all modules
 * near to it share it. */
void *lm_relay_near(const char *from, void *function);

/* The same, for a table of exports at `base`: what is less than 4 GiB above that. */
void *lm_relay_above(const char *base, void *function);

#endif
