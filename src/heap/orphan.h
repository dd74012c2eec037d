/* Orphans: spans whose owner's thread has ended while blocks of them were in use.
 *
 * They wait on one list per size class, and chunks on one of their own. Whoever frees the last
 * block gives the span back; a heap that needs a span of the class adopts one that has free blocks,
 * and a heap that uses the class adopts the orphan whose block it frees (remote.c).
 * Everything about an orphan happens under its class's lock; lm_span.owner is NULL while it is on
 * the list. */
#ifndef LM_HEAP_ORPHAN_H
#define LM_HEAP_ORPHAN_H

#include "heap/heap.h"
#include "heap/visit.h"

/* Leaves a span without free blocks in any bin, of which blocks are in use. */
void lm_orphan_leave(struct lm_span *span);

/* Whether there may be an orphan of the class with free blocks. */
bool lm_orphan_waits(size_t class_index);

/* A span with free blocks for the heap, now owned by it but on none of its lists; or NULL. None for
 * a first-class heap, all of whose blocks are its own. */
struct lm_span *lm_orphan_adopt(struct lm_heap *heap, size_t class_index);

/* Makes this orphan the heap's, on none of its lists; false if it has been adopted meanwhile. */
bool lm_orphan_adopt_span(struct lm_heap *heap, struct lm_span *span);

/* Puts blocks back on an orphan, linked from `first` to `last`. False, with nothing done, if the
 * span has been adopted meanwhile. */
bool lm_orphan_put_back(struct lm_span *span, struct lm_block *first, struct lm_block *last,
                        size_t count);

/* Orphans with free blocks are looked at for holes in rounds, as a heap's spans are (holes.h), and
 * what has been free in chunks for a while is purged. The second does some of that, and says
 * whether there is more to do at once; if not, about how much is left for later rounds is added to
 * `*kept_bytes`. `now_ms` is the clock's. */
void lm_orphan_begin_round(uint64_t now_ms) LM_REQUIRES(lm_visits_round.lock);
bool lm_orphan_look(uint64_t now_ms, size_t *kept_bytes) LM_REQUIRES(lm_visits_round.lock);

/* Gives the OS pages back on which orphans have no block that the program has; returns how many. */
size_t lm_orphan_make_holes(void);

#define LM_ORPHAN_CLASSES (LM_CLASS_MIDDLE + 1)
extern struct lm_lock lm_orphan_locks[LM_ORPHAN_CLASSES];
void lm_orphan_start(void);

#endif
