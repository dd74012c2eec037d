/* The C runtimes that are loaded beside loam. A program on Windows may have several, each with a
 * heap of its own. None of their functions is called for their blocks, which may lead to loam. */
#ifndef LM_OS_RUNTIME_WINDOWS_H
#define LM_OS_RUNTIME_WINDOWS_H

#include "base/compiler.h"

/* Whether `block` is a block of a runtime's heap. Any address will do. */
bool lm_os_is_runtimes(const void *block);
/* Of a block that is: frees it; how many bytes it has. */
void lm_os_free_runtimes(void *block);
size_t lm_os_bytes_of_runtimes(void *block);

#endif
