/* When statistics are printed: at the process's end, and by a signal. */
#ifndef LM_API_STATISTICS_H
#define LM_API_STATISTICS_H

#include "base/compiler.h"

/* Once, when the options have been read; `environment` is LOAM_OPTIONS, or NULL. */
void lm_statistics_start(const char *environment);
/* The process ends. */
void lm_statistics_end(void);

#endif
