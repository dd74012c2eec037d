/* How a span begins and ends, and where its blocks are: what heaps and orphans both do with it. */
#ifndef LM_HEAP_SPAN_LIFE_H
#define LM_HEAP_SPAN_LIFE_H

#include "pages/pool.h"
#include "pages/region.h"
#include "sizeclass/sizeclass.h"

/* Of one slice; spans of more have larger blocks, and no more of them. */
#define LM_SPAN_BLOCKS_MAX (LM_SLICE_BYTES / LM_GRANULE_BYTES)

LM_INLINE void lm_span_set_tag(struct lm_span *span, uint32_t tag) {
  char *start = lm_span_start(span);
  for (size_t i = 0; i < span->slice_count; i++) {
    lm_tags_write(start + (i << LM_SLICE_SHIFT), tag);
    lm_store_relaxed(&span[i].tag, tag);
  }
}

/* A new span in slices that no span has, on no list, of no blocks. */
LM_INLINE struct lm_span *lm_span_begin(char *start, struct lm_heap *owner, size_t class_index,
                                        size_t slice_count) {
  struct lm_span *span = lm_span_record_of(start);
  for (size_t i = 0; i < slice_count; i++) span[i].head = span[i].head_own = span;
  span->free_list = LM_NO_BLOCK;
  span->used_count = span->extended_count = span->extended_count_seen = 0;
  span->look_at_count = 0;
  span->carve_limit = 0;
  span->class_index = (uint8_t)class_index;
  span->slice_count = (uint8_t)slice_count;
  span->dirty_pages = 0;
  span->written_pages = 0;
  span->hole_pages = 0;
  span->hole_block_count = span->used_count_seen = 0;
#if LM_HARDENED_GUARDS
  span->guarded = false;
#endif
  span->look_round = span->quiet_looks = span->quiet_wait = 0;
  lm_store_release(&span->owner, owner);
  return span;
}

/* How many bytes of a span, from its start, may have been written to since it began. */
LM_INLINE size_t lm_span_touched_bytes(const struct lm_span *span) {
  size_t count = span->extended_count;
  if (lm_region_of(span)->decommits) count = lm_max(count, span->carve_limit);
  return count * lm_classes[span->class_index].block_bytes;
}

/* Of a span, or of what ended there: the pages that have been written to. Carved blocks of up to a
 * page have a link or were used; of longer ones that is not known, nor of what is in a chunk. */
LM_INLINE uint64_t lm_span_written_pages(const struct lm_span *span) {
  if (span->class_index == LM_CLASS_MIDDLE) return 0;
  size_t block_bytes = lm_classes[span->class_index].block_bytes;
  if (block_bytes > lm_os.page_bytes) return span->written_pages;
  size_t carved_pages = lm_pages_of(span->extended_count * block_bytes);
  return (span->written_pages | lm_bitmap_mask(0, 0, carved_pages)) & ~span->hole_pages;
}

/* How far behind the span's start an address in it is: in its slice, and by the slices before that,
 * whose records stand in the same order. */
LM_INLINE size_t lm_span_offset_of(const struct lm_span *span, const void *address) {
  size_t records = (size_t)((const char *)lm_span_record_of(address) - (const char *)span);
  return ((uintptr_t)address & (LM_SLICE_BYTES - 1)) + records * (LM_SLICE_BYTES / sizeof *span);
}

/* Whether a block of the span may begin at `address`, which is in the span. Any thread. */
LM_INLINE bool lm_span_has_block_at(const struct lm_span *span, const void *address) {
  size_t offset = lm_span_offset_of(span, address);
  return lm_class_block_at(&lm_classes[span->class_index], offset) < span->capacity;
}

/* Whether one has been carved there. For the span's owner: other threads' line is not touched. */
LM_INLINE bool lm_span_has_carved_at(const struct lm_span *span, size_t class_index,
                                     const void *address) {
  size_t offset = lm_span_offset_of(span, address);
  return lm_class_block_at(&lm_classes[class_index], offset) < span->extended_count;
}

#if LM_HARDENED_GUARDS

/* The last page of a span is kept free of access where that costs an eighth of its blocks at most:
 * then a program that writes on and on ends there. A system without such pages has none. */
#define LM_SPAN_GUARD_FRACTION 8

LM_INLINE char *lm_span_guard_page(const struct lm_span *span) {
  return lm_span_start(span) + ((size_t)span->slice_count << LM_SLICE_SHIFT) - lm_os.page_bytes;
}

/* Of a span that has just begun. */
LM_INLINE void lm_span_guard(struct lm_span *span) {
  size_t block_bytes = lm_classes[span->class_index].block_bytes;
  char *page = lm_span_guard_page(span);
  size_t count = (size_t)(page - lm_span_start(span)) / block_bytes;
  bool dear = count + span->capacity / LM_SPAN_GUARD_FRACTION < span->capacity;
  if (dear || lm_region_of(span)->provider != NULL || lm_os_guard(page, lm_os.page_bytes) != 0)
    return;
  span->capacity = (uint16_t)lm_min(count, span->capacity);
  span->guarded = true;
}

LM_INLINE void lm_span_unguard(struct lm_span *span) {
  if (span->guarded) lm_os_unguard(lm_span_guard_page(span), lm_os.page_bytes);
  span->guarded = false;
}

#endif

/* Gives an empty span's slices back; it is on no list. */
LM_INLINE void lm_span_end(struct lm_span *span) {
#if LM_HARDENED_GUARDS
  lm_span_unguard(span);
#endif
  lm_span_set_tag(span, 0);
  span->state = LM_SPAN_NONE;
  if (span->class_index == LM_CLASS_MIDDLE) {
    lm_pool_give_chunk(lm_span_start(span));
    return;
  }
  lm_pool_give_slices(lm_span_start(span), span->slice_count, lm_span_touched_bytes(span),
                      span->dirty_pages);
}

#endif
