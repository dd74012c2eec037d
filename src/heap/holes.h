/* Holes: OS pages of a span, between blocks that the program has, on which there is none. They have
 * been given back to the system, and free blocks that reach onto them are on no list: their links
 * would have been on these pages. When a span has no other free blocks left, those of a hole go
 * back onto its free_list, and its pages are fetched again.
 *
 * Not in a region that decommits, whose pages would have to be committed again when the span ends,
 * which may fail. */
#ifndef LM_HEAP_HOLES_H
#define LM_HEAP_HOLES_H

#include "heap/heap.h"
#include "pages/pressure.h"

/* Gives back all pages of the span on which there are free blocks only, those of its free_list; the
 * owner's, or under the lock of its class's orphans. Returns how many, and takes what it costs from
 * the effort (lm_purge_effort), which does not bound it. */
size_t lm_holes_make(struct lm_span *span, size_t *effort);

/* The same in all spans of the list, at whatever cost. */
size_t lm_holes_make_in(const struct lm_span_list *list);

/* And of the heap, whose bins are empty. */
size_t lm_holes_make_all(struct lm_heap *heap);

/* From here on usable spans, a heap's or orphans, are looked at, each once. Holes are made in one
 * that is sparse and has been quiet since the last looks; but not in what the child of a fork has
 * not used since: it shares that with its parent, so that to link free blocks anew would copy their
 * pages, and to give back what lies between would give back nothing. */
void lm_holes_begin_round(struct lm_holes *holes);

/* Looks at the spans of the list that the round has not looked at yet, and makes the holes of some,
 * as far as the effort does, which it takes from. Those looked at go to the list's end. */
void lm_holes_look(struct lm_holes *holes, struct lm_span_list *list, size_t *effort);

/* A part of the time that has passed may be spent. Where the system would end the process, any, and
 * rounds begin at once. */
void lm_holes_earn(struct lm_holes *holes, uint64_t elapsed_ms);

/* Whether the round goes on and may spend something. */
LM_INLINE bool lm_holes_may_go_on(const struct lm_holes *holes) {
  return holes->goes_on && (holes->credit != 0 || lm_pressed(LM_PRESSURE_MUCH));
}

/* Calls for the round's classes, from where it stands on, as far as the effort does, which it takes
 * from. Returns whether there is more to do at once. */
typedef void lm_holes_looker(void *owner, size_t class_index, size_t *effort);
bool lm_holes_go_on(struct lm_holes *holes, lm_holes_looker *look_in_class, void *owner,
                    size_t *effort);
#define LM_HOLES_CLASSES LM_CLASS_MIDDLE /* chunks have none */

/* About what later rounds will find, of what the last has looked at. */
LM_INLINE size_t lm_holes_expected_bytes(const struct lm_holes *holes) {
  return holes->sparse_count * (LM_SLICE_BYTES / 4);
}

/* The same for a heap's usable spans. */
bool lm_holes_go_on_in_heap(struct lm_heap *heap, size_t *effort);

/* The heap has taken `slice_count` more of its pool, and may have pages without a block in spans of
 * other classes. Each time that it has grown by an eighth beyond its peak a round begins that does
 * not wait for the clock, and what it takes pays for it. */
void lm_holes_note_growth(struct lm_heap *heap, size_t slice_count);

/* Puts the blocks of the first hole onto the free_list. False if the span has none. */
bool lm_holes_fill(struct lm_span *span);

#endif
