/* The checking build checks itself: what a cache says of its lists. */
#ifndef LM_THREAD_VALID_H
#define LM_THREAD_VALID_H

#include "central/valid.h"
#include "thread/cache.h"

#if LM_VALIDATES
/* Of the calling thread, or of one that does nothing. Looks at each of its blocks, and writes to
 * their second words, as inspections do. Ends the program where something does not hold. */
void lm_cache_validate(const struct lm_cache *cache);
#endif

#endif
