/* A profile as a file; docs/profile.md has the format. Written without allocating. */
#ifndef LM_PROFILE_FILE_H
#define LM_PROFILE_FILE_H

#include "base/compiler.h"

/* By lm_os_clock_ms; 0: not known. */
extern uint64_t lm_profile_process_start_ms;

/* Writes the profile to the file that is open as `fd`; `bytes` is the mean distance of samples.
 * Returns 0 or an errno: then the file is no whole one. */
int lm_profile_print(int fd, uint64_t bytes);

#endif
