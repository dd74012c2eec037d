/* Windows: blocks that a C runtime has allocated itself (_wcsdup, _getcwd) or for another module.
 * They are in the runtime's heap, and are freed and measured there. */
#include "api/foreign.h"

#include "os/runtime_windows.h"

const char lm_foreign_free_name[] = "free";
const char lm_foreign_size_name[] = "_msize";

void *lm_foreign_owner_function(const void *address, const char *name) {
  if (!lm_os_is_runtimes(address)) return NULL;
  return name == lm_foreign_free_name ? (void *)(uintptr_t)lm_os_free_runtimes
                                      : (void *)(uintptr_t)lm_os_bytes_of_runtimes;
}
