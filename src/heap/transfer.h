/* Transfers: free blocks of threads' heaps where any heap of the same pool finds them, since their
 * owners do not take what they are sent (remote.h). Who takes them has them as guests.
 *
 * For each size class a pool has a few places for lists of blocks, and for each length of middle
 * blocks a few for one block each. Any thread fills a place that is empty by a releasing
 * compare-and-swap, and empties one by an acquiring exchange, so that nobody waits for anybody.
 * What nobody takes goes home by the clock. */
#ifndef LM_HEAP_TRANSFER_H
#define LM_HEAP_TRANSFER_H

#include "heap/heap.h"
#include "heap/visit.h"

#define LM_TRANSFER_PLACES 8 /* a cache line */

/* Whether there ever was anything to take. Written by who gives first. */
extern _Atomic(bool) lm_transfers_in_use;

/* Gives the class's reserve away, if it is of guests alone; false, with nothing done, if it is not
 * or if there is no place for it. */
bool lm_transfer_give(struct lm_heap *heap, size_t class_index);

/* Fills the class's reserve, which is empty, as is the bin; false if there is nothing to take. None
 * for a first-class heap, all of whose blocks are its own. */
bool lm_transfer_take(struct lm_heap *heap, size_t class_index);

/* Gives a middle block away that is marked as on its way; false if there is no place for it. */
bool lm_transfer_give_middle(const struct lm_heap *heap, void *block);

/* A middle block of `index` + 1 pages or up to a fifth more; NULL if there is none. */
void *lm_transfer_take_middle(const struct lm_heap *heap, size_t index);

/* A round (visit.h) looks at all places, some of them at a time; what has been there since the
 * round before goes home. Both say whether there is more to look at. */
bool lm_transfer_begin_round(void) LM_REQUIRES(lm_visits_round.lock);
bool lm_transfer_look(void) LM_REQUIRES(lm_visits_round.lock);

/* Sends all home. */
void lm_transfer_send_all(void) LM_REQUIRES(lm_visits_round.lock);

/* For reports: the list that stands in a place of a pool's, or NULL. */
const struct lm_block *lm_transfer_read(size_t pool, size_t class_index, size_t place);

#endif
