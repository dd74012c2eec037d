/* Windows: blocks that a C runtime has allocated itself (_wcsdup, _getcwd) or for another module.
 * The runtime whose heap holds the block serves it. */
#include "api/foreign.h"

#include "os/runtime_windows.h"

const char lm_foreign_free_name[] = "free";
const char lm_foreign_size_name[] = "_msize";

void *lm_foreign_owner_function(const void *address, const char *name) {
  return lm_os_owner_function(address, name);
}
