/* How caches come to blocks: of their central's depot or spans, then of what others have, and at
 * last of a new span. (Rejected: new spans before others' blocks. Memory grows while others have
 * what is needed.) */
#ifndef LM_CENTRAL_TAKE_H
#define LM_CENTRAL_TAKE_H

#include "central/central.h"

/* Up to `want` blocks of a small class: of the central's depot or spans, else of others', else of a
 * new span. The first is returned; the others are `*rest`, linked up to LM_NO_BLOCK, and `*count`
 * is the most that there are. `*zero`: the first one reads as zero. NULL if out of memory. No lock
 * is held. */
void *lm_central_take(struct lm_central *central, size_t class_index, size_t want,
                      struct lm_block **rest, size_t *count, bool *zero);
/* One block of a span that has some on its free_list, and is on a list. The lock is held. */
void *lm_central_take_of(struct lm_central *central, struct lm_span *span);
/* The same of a first-class heap, whose lock is held; one block. */
void *lm_central_take_one(struct lm_central *central, size_t class_index, bool *zero);

#endif
