/* The key of random words. */
#ifndef LM_OS_RANDOM_LINUX_H
#define LM_OS_RANDOM_LINUX_H

/* Fetches it. The clock must be known by then. */
void lm_random_start(void);

#endif
