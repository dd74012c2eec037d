/* A process that has been made and does not run yet gets a library as its first import. */
#ifndef LM_REDIRECT_INJECT_WINDOWS_H
#define LM_REDIRECT_INJECT_WINDOWS_H

#include "base/compiler.h"

#include <windows.h>

/* The library is loaded before all that the program imports, and begins first. NULL, or why it
 * cannot be: then the process is as it was. */
const char *lm_inject(HANDLE process, const wchar_t *library);

#endif
