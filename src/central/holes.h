/* Holes: OS pages of a span, between blocks that the program has, on which there is none. They have
 * been given back to the system, and free blocks that reach onto them are on no list: their links
 * would have been on these pages. When a span has no other free blocks left, those of a hole go
 * back onto its free_list, and its pages are fetched again.
 *
 * A span is taken off its central's lists while it is looked at, so that nobody waits for the lock
 * meanwhile: blocks that come home go onto its list, and none leave.
 *
 * In a region that decommits, a hole's pages may not be accessed until it is filled, and are as
 * clean ones of the pool's when the span ends. Not where memory does not go back in parts.
 *
 * (Rejected: links that stand elsewhere, so that blocks of a hole stay on the list. malloc would
 * fetch their pages again with the next blocks that it takes.) */
#ifndef LM_CENTRAL_HOLES_H
#define LM_CENTRAL_HOLES_H

#include "central/central.h"
#include "pages/pressure.h"

/* Puts the blocks of the first hole onto the free_list. False, with none there, if its pages cannot
 * be committed. The lock is held. */
bool lm_holes_fill(struct lm_span *span);

/* Which of the spans that are looked at. */
enum lm_holes_kind {
  LM_HOLES_DUE,  /* sparse ones that have been quiet for some looks */
  LM_HOLES_ALL,  /* all that have changed since it was done last */
  LM_HOLES_NONE, /* none, and none of them later before it has changed: the process shares them with
                  * its parent, so that to link free blocks anew would copy pages, and to give back
                  * what lies between would give back nothing */
};

/* Looks at the class's spans that are not full and have not been looked at in this round, and gives
 * back the pages without a block of some, as far as the effort does (lm_purge_effort), which it
 * takes from. Adds to `*page_count` how many. Returns whether there are more. No lock is held. */
bool lm_holes_look(struct lm_central *central, size_t class_index, uint16_t round,
                   enum lm_holes_kind kind, size_t *effort, size_t *page_count);

#endif
