/* Holes: OS pages of a span, between blocks that the program has, on which there is none. They have
 * been given back to the system, and free blocks that reach onto them are on no list: their links
 * would have been on these pages. When a span has no other free blocks left, those of a hole go
 * back onto its free_list, and its pages are fetched again.
 *
 * Not in a region that decommits, whose pages would have to be committed again when the span ends,
 * which may fail. */
#ifndef LM_HEAP_HOLES_H
#define LM_HEAP_HOLES_H

#include "pages/span.h"

/* Gives back all pages of the span on which there are free blocks only, those of its free_list; the
 * owner's, or under the lock of its class's orphans. Returns how many. Takes some microseconds for
 * a hundred free blocks, and a system call for each run of pages. */
size_t lm_holes_make(struct lm_span *span);

/* Looks at a span of a heap's whose turn it is, and makes its holes if what is used has not changed
 * for some looks. Returns whether a later look may. `*left` is how much a call may do still: a look
 * costs 1, holes LM_HOLES_COST. */
bool lm_holes_look(struct lm_span *span, size_t *left);
#define LM_HOLES_COST 64

/* Puts the blocks of the first hole onto the free_list. False if the span has none. */
bool lm_holes_fill(struct lm_span *span);

#endif
