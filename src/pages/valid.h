/* The checking build checks itself: all that maps and counts say of each other is counted again.
 * Each ends the program where something does not hold. */
#ifndef LM_PAGES_VALID_H
#define LM_PAGES_VALID_H

#include "pages/pool.h"

#if LM_CHECKING || LM_FAKE_OS
#define LM_VALIDATES 1
#else
#define LM_VALIDATES 0
#endif

#if LM_VALIDATES
/* Takes the pool's lock. Some hundred microseconds for each region. */
void lm_pool_validate(struct lm_pool *pool);
#endif

#endif
