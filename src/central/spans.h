/* Spans of a central that have blocks, by what is free in them: on one list those with free blocks,
 * on another those with room for more, and all others. An empty one ends, but for one of a class.
 * (Rejected: to take from the fullest span first. Each free would have to look where its span
 * stands among the others.) */
#ifndef LM_CENTRAL_SPANS_H
#define LM_CENTRAL_SPANS_H

#include "central/central.h"

/* Puts a span, on no list, where it belongs; `*ended` links what is empty and not kept. The lock is
 * held. */
void lm_central_list_span(struct lm_central *central, struct lm_span *span, bool keeps,
                          struct lm_span **ended);
/* The list that a span which is on one is on. The lock is held. */
LM_INLINE struct lm_span_list *lm_central_list_of(const struct lm_span *span) {
  struct lm_central_class *class = &span->central->classes[span->class_index];
  if (span->state == LM_SPAN_FULL) return &class->full;
  return span->state == LM_SPAN_USABLE ? &class->usable : &class->roomy;
}
/* Ends what lm_central_list_span has linked. No lock is held. */
void lm_central_end_all(struct lm_span *ended);

/* Ends the empty span of the class that is kept, if nothing has changed in it since this was last
 * asked for, or `now`. Returns whether there are spans that are not full. No lock is held. */
bool lm_central_end_empty(struct lm_central *central, size_t class_index, bool now);

#endif
