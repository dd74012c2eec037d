/* What is found out of the system's calls on pages, once. */
#ifndef LM_OS_PAGES_LINUX_H
#define LM_OS_PAGES_LINUX_H

#include "base/compiler.h"

/* At start: what is tried by calls that may not be made later is tried here. */
void lm_pages_start(void);

#endif
