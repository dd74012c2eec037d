/* Blocks on lists that others may be changing. gather.h says why they can be followed. */
#ifndef LM_REPORT_LISTS_H
#define LM_REPORT_LISTS_H

#include "report/figures.h"

struct lm_cache;
struct lm_central;
struct lm_span;

/* Adds the small blocks that are in the cache's lists to what is known of classes. `own`: it is the
 * calling thread's. */
void lm_lists_add_cache(const struct lm_cache *cache, bool own, struct lm_class_figures *classes);

/* The same of a depot. Takes its central's lock for each class. */
void lm_lists_add_depot(struct lm_central *central, struct lm_class_figures *classes);

/* The pages of the span on which all carved blocks are on its list, but for its holes; bit i is OS
 * page i. The lock of its pool is held. */
uint64_t lm_lists_idle_pages(const struct lm_span *span);

#endif
