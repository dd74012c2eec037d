/* The C runtimes, whose malloc family leads to loam. */
#ifndef LM_REDIRECT_RUNTIMES_WINDOWS_H
#define LM_REDIRECT_RUNTIMES_WINDOWS_H

#include "redirect/modules_windows.h"

/* If the module is a runtime, all its functions of the family lead to loam from here on, or none
 * and a line says why. */
void lm_runtime_redirect(const struct lm_module *module);

/* Whether it is one that can be redirected; one for debugging cannot. */
bool lm_is_runtime(const struct lm_module *module);

/* Whether code at `address` is loam's, or jumps there. */
bool lm_leads_to_loam(const void *address);

/* Whether loam has a function of that name. */
bool lm_is_of_family(const char *name);

/* Where the first runtime that was redirected keeps errno, the UCRT before others; NULL: none. */
extern int *(*lm_runtime_errno)(void);

#endif
