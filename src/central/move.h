/* Blocks that are moved together, out of spans that are sparsely used into fuller ones, so that the
 * first ones end. (Rejected: to compare with what spans of the class have on average. That needs
 * sums that each take and put would change, and does not say whether there is room elsewhere.) */
#ifndef LM_CENTRAL_MOVE_H
#define LM_CENTRAL_MOVE_H

#include "central/central.h"

/* Whether the small block of a central's, which the program has, stands in a span that is sparsely
 * used while there is a fuller one with room. No lock is held; in a bounded time. */
bool lm_move_is_worth(const void *block);

/* The same, and a free block of that fuller span; else NULL. */
void *lm_move_target(const void *block);

#endif
