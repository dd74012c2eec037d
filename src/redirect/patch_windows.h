/* Functions whose first bytes become a jump. They are never called again as they were. */
#ifndef LM_REDIRECT_PATCH_WINDOWS_H
#define LM_REDIRECT_PATCH_WINDOWS_H

#include "redirect/image_windows.h"

struct lm_patch {
  const char *name;
  char *function;
  void *replacement;
};

/* Why nothing was changed. */
enum lm_patch_result {
  LM_PATCH_DONE,
  LM_PATCH_NOT_AS_IN_FILE, /* another tool was there first */
  LM_PATCH_TOO_SHORT,      /* another function begins in those bytes, or they are no code */
  LM_PATCH_NO_RELAY,       /* near to it there is no memory that may be executed */
  LM_PATCH_PROTECTED,      /* the system does not let its code be changed */
  LM_PATCH_IN_USE,         /* a thread does not leave those bytes, or cannot be stopped */
};

/* All of them, or none: then `*which` is one that cannot be. `has_begun`: threads may be in them,
 * and are stopped elsewhere meanwhile. `anyway`: also where they are not as in the file. In DllMain
 * or a notification of the loader's. */
enum lm_patch_result lm_patch_all(const struct lm_image *image, const struct lm_patch *patches,
                                  size_t count, bool has_begun, bool anyway, size_t *which);

#endif
