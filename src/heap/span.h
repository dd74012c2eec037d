/* What heaps and orphans both do to a span. */
#ifndef LM_HEAP_SPAN_H
#define LM_HEAP_SPAN_H

#include "pages/pool.h"
#include "pages/region.h"
#include "sizeclass/sizeclass.h"

LM_INLINE void lm_span_set_tag(struct lm_span *span, uint32_t tag) {
  char *start = lm_span_start(span);
  for (size_t i = 0; i < span->slice_count; i++) {
    lm_tags_write(start + (i << LM_SLICE_SHIFT), tag);
    lm_store_relaxed(&span[i].tag, tag);
  }
}

/* Gives an empty span's slices back; it is on no list. */
LM_INLINE void lm_span_end(struct lm_span *span) {
  size_t touched = (size_t)span->extended_count * lm_classes[span->class_index].block_bytes;
  lm_span_set_tag(span, 0);
  span->state = LM_SPAN_NONE;
  lm_pool_give_slices(lm_span_start(span), span->slice_count, touched);
}

#endif
