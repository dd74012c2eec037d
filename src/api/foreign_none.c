/* Where loam serves only its own names, no block of the C library's is given to it. */
#include <stddef.h>

#include "api/foreign.h"

const char lm_foreign_free_name[] = "free", lm_foreign_size_name[] = "malloc_usable_size";

void *lm_foreign_owner_function(const void *address, const char *name) {
  (void)address, (void)name;
  return NULL;
}
