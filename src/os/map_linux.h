/* What other files here map and unmap besides what os.h has. */
#ifndef LM_OS_MAP_LINUX_H
#define LM_OS_MAP_LINUX_H

#include "base/compiler.h"

/* As lm_os_release, of what is not to fail in tests. */
void lm_unmap_or_leave(void *address, size_t size);

#endif
