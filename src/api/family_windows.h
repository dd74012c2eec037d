/* The malloc family of Windows' C runtimes as a table, for what redirects theirs (src/redirect). */
#ifndef LM_API_FAMILY_WINDOWS_H
#define LM_API_FAMILY_WINDOWS_H

#include "base/compiler.h"

struct lm_windows_function {
  const char *name;
  void *function; /* loam's */
};
#define LM_WINDOWS_FAMILY_COUNT 22
extern const struct lm_windows_function lm_windows_family[LM_WINDOWS_FAMILY_COUNT];

#endif
