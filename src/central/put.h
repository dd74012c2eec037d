/* How blocks come back into spans, whosever these are, some of them under one lock. What a program
 * has done to them wrongly shows here. (Rejected: to sort them by their spans first. Lists are
 * mostly in the order in which they were taken.) */
#ifndef LM_CENTRAL_PUT_H
#define LM_CENTRAL_PUT_H

#include "central/central.h"

/* Puts small blocks back into their spans, whosever these are: a list of one class, up to
 * LM_NO_BLOCK, or one block. No lock is held. What was done to them wrongly ends the program;
 * `caller` is NULL if it is not known. `refused`: a depot had no room for the list, and shall if
 * that is asked for. */
void lm_central_put_list(struct lm_block *first, bool refused);
void lm_central_put(struct lm_block *block, void *caller);
/* The same of blocks of any small classes, none of which is to be kept for the next calls. */
void lm_central_put_blocks(struct lm_block *const *blocks, size_t count);

#endif
