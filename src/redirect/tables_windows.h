/* Tables in which modules look up functions of others, where these stay as they are. */
#ifndef LM_REDIRECT_TABLES_WINDOWS_H
#define LM_REDIRECT_TABLES_WINDOWS_H

#include "redirect/modules_windows.h"

/* A function that `exporter` has under that name leads to `replacement` for all modules that have
 * it in their tables of imports; and for those that look it up from here on. False if the second
 * cannot be. Addresses that a module keeps elsewhere stay. In DllMain or a notification of the
 * loader's. */
bool lm_tables_lead(const struct lm_image *exporter, const char *name, void *replacement);

#endif
