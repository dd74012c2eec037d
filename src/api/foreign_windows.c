/* Windows: blocks that a C runtime has allocated itself (_wcsdup, _getcwd) or for another module.
 * The runtime whose heap holds the block serves it. */
#include "api/foreign.h"

#include <string.h>

#include "api/checking.h"
#include "api/misuse.h"
#include "base/bits.h"
#include "config/options.h"
#include "large/huge.h"
#include "os/os.h"
#include "os/runtime_windows.h"

/* The owner's function; else ends the program, or returns NULL. */
static void *owner_function(void *address, const char *name, const char *call, void *caller) {
  if (lm_region_holds((uintptr_t)address) || lm_huge_holds(address))
    lm_misuse_not_a_start(address, call, caller);
  void *function = lm_os_owner_function(address, name);
  if (function == NULL && lm_options.foreign == LM_FOREIGN_ABORT)
    lm_misuse_foreign(address, call, caller);
  return function;
}

void lm_foreign_free(void *address, void *caller) {
  void *function = owner_function(address, "free", "free", caller);
  if (function != NULL) ((void (*)(void *))function)(address);
}

size_t lm_foreign_usable_bytes(void *address, void *caller) {
  void *function = owner_function(address, "_msize", "_msize", caller);
  return function != NULL ? ((size_t (*)(void *))function)(address) : 0;
}

void *lm_foreign_realloc(void *address, size_t size, void *caller) {
  void *function = owner_function(address, "_msize", "realloc", caller);
  if (function == NULL) return NULL;
  size_t old_bytes = ((size_t (*)(void *))function)(address);
  void *copy = lm_checked_malloc(size);
  if (copy == NULL) return NULL;
  memcpy(copy, address, lm_min(size, old_bytes));
  lm_foreign_free(address, caller);
  return copy;
}
