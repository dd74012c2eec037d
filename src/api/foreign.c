#include "api/foreign.h"

#include <string.h>

#include "api/aside.h"
#include "base/bits.h"
#include "config/options.h"
#include "pages/huge.h"
#include "pages/region.h"
#include "os/misuse.h"

typedef void free_function(void *block);
typedef size_t size_function(void *block);

/* The owner's function; else ends the program, or returns NULL. */
static void *find_function(void *address, const char *name, const char *call, void *caller) {
  if (lm_region_holds((uintptr_t)address) || lm_huge_holds(address))
    lm_misuse_not_a_start(address, call, caller);
  void *function = lm_foreign_owner_function(address, name);
  if (function == NULL && LM_OPTION(foreign) == LM_FOREIGN_ABORT)
    lm_misuse_foreign(address, call, caller);
  return function;
}

void lm_foreign_free(void *address, void *caller) {
  if (lm_is_aside() && lm_aside_free_foreign(address)) return;
  void *function = find_function(address, lm_foreign_free_name, "free", caller);
  if (function != NULL) ((free_function *)function)(address);
}

size_t lm_foreign_usable_bytes(void *address, void *caller) {
  const char *name = lm_foreign_size_name;
  size_t bytes;
  if (lm_is_aside() && lm_aside_size_foreign(address, &bytes)) return bytes;
  void *function = find_function(address, name, name, caller);
  return function != NULL ? ((size_function *)function)(address) : 0;
}

bool lm_foreign_can_move(void *address, size_t *bytes, void *caller) {
  void *function = find_function(address, lm_foreign_size_name, "realloc", caller);
  if (function != NULL) *bytes = ((size_function *)function)(address);
  return function != NULL;
}

bool lm_foreign_resize(void *address, size_t size, void **result) {
  return lm_is_aside() && lm_aside_realloc_foreign(address, size, result);
}

void *lm_foreign_move(void *address, size_t bytes, void *copy, size_t size, void *caller) {
  if (copy == NULL) return NULL;
  memcpy(copy, address, lm_min(size, bytes));
  lm_foreign_free(address, caller);
  return copy;
}
