/* Blocks on lists that others may be changing. figures.h says why they can be followed. */
#ifndef LM_REPORT_LISTS_H
#define LM_REPORT_LISTS_H

#include "report/figures.h"

struct lm_heap;
struct lm_span;

/* Adds the blocks that are in the heap's bins, chains and messages to what is known of classes.
 * `own`: it is the calling thread's. */
void lm_lists_add_heap(struct lm_heap *heap, bool own, struct lm_class_figures *classes);

/* The same of small blocks that pass from heap to heap. */
void lm_lists_add_transfers(struct lm_class_figures *classes);

/* The pages of the span on which all carved blocks are on its list, but for its holes; bit i is OS
 * page i. The lock of its pool is held. */
uint64_t lm_lists_idle_pages(const struct lm_span *span);

#endif
