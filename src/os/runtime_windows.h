/* The C runtimes that are loaded beside loam. A program on Windows may have several, each with a
 * heap of its own. */
#ifndef LM_OS_RUNTIME_WINDOWS_H
#define LM_OS_RUNTIME_WINDOWS_H

/* The function `name` of the runtime in whose heap `block` is; NULL if it is no block of any. Any
 * address will do. */
void *lm_os_owner_function(const void *block, const char *name);

#endif
