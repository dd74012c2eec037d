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

/* Gives back all pages of the span on which there are free blocks only, those of its free_list; the
 * owner's, or under the lock of its class's orphans. Returns how many. Takes some microseconds for
 * a hundred free blocks, and a system call for each run of pages. */
size_t lm_holes_make(struct lm_span *span);

/* The same in all spans of the heap, whose bins are empty. */
size_t lm_holes_make_all(struct lm_heap *heap);

/* From here on usable spans, a heap's or orphans, are looked at, each once. Holes are made in one
 * that is sparse and has been quiet since the last looks. */
void lm_holes_begin_round(struct lm_holes *holes);

/* Looks at the spans of the list that the round has not looked at yet, and makes the holes of some,
 * while something is `*left` of what may be spent. Those looked at go to the list's end. */
void lm_holes_look(struct lm_holes *holes, struct lm_span_list *list, size_t *left);

/* Calls that for the round's classes, from where it stands on, with so much to spend as a part of
 * the time allows. Returns whether the round goes on and may spend more now. */
typedef void lm_holes_looker(void *owner, size_t class_index, size_t *left);
bool lm_holes_tick(struct lm_holes *holes, uint64_t elapsed_ms, lm_holes_looker *look_in_class,
                   void *owner);
#define LM_HOLES_CLASSES LM_CLASS_MIDDLE /* chunks have none */

/* About what later rounds will find, of what the last has looked at. */
LM_INLINE size_t lm_holes_expected_bytes(const struct lm_holes *holes) {
  return holes->sparse_count * (LM_SLICE_BYTES / 4);
}

/* The same for a heap's usable spans. */
bool lm_holes_tick_heap(struct lm_heap *heap, uint64_t elapsed_ms);

/* The heap has taken `slice_count` more of its pool, and may have pages without a block in spans of
 * other classes. Each time that it has grown by an eighth beyond its peak a round begins that does
 * not wait for the clock, and what it takes pays for it. */
void lm_holes_note_growth(struct lm_heap *heap, size_t slice_count);

/* Puts the blocks of the first hole onto the free_list. False if the span has none. */
bool lm_holes_fill(struct lm_span *span);

#endif
