/* How a span begins and ends, and where its blocks are. (Rejected: to cut it into blocks when it
 * begins. Each of its pages would be touched before anybody has a use for it.) */
#ifndef LM_CENTRAL_SPAN_LIFE_H
#define LM_CENTRAL_SPAN_LIFE_H

#include "pages/region.h"
#include "sizeclass/sizeclass.h"

/* Of one slice; spans of more have larger blocks, and no more of them. */
#define LM_SPAN_BLOCKS_MAX (LM_SLICE_BYTES / LM_GRANULE_BYTES)

LM_INLINE void lm_span_set_tag(struct lm_span *span, uint32_t tag) {
  char *start = lm_span_start(span);
  for (size_t i = 0; i < span->slice_count; i++) {
    lm_tags_write(start + (i << LM_SLICE_SHIFT), tag);
    lm_store_relaxed(&span[i].tag, (uint8_t)tag);
  }
}

/* A new span of the class for the central, on no list, of no blocks. NULL if out of memory. No lock
 * of a central's is held: the system may be asked for a region. */
struct lm_span *lm_span_begin(struct lm_central *central, size_t class_index);
/* Gives an empty span's slices back; it is on no list. No lock of a central's is held. */
void lm_span_end(struct lm_span *span);

/* Carves up to `most` blocks, at least one, of a span that has room for it, from extended_count on.
 * Those behind the first are linked as `*rest`, which ends with LM_NO_BLOCK. `*zero`: the first one
 * reads as zero.
 * Returns how many, 0 if memory cannot be committed. The central's lock is held. */
size_t lm_span_carve(struct lm_span *span, size_t most, struct lm_block **rest, bool *zero);

/* The pages on which blocks have been carved. */
LM_INLINE uint64_t lm_span_carved_pages(const struct lm_span *span) {
  size_t bytes = (size_t)span->extended_count * lm_classes[span->class_index].block_bytes;
  return lm_bitmap_mask(0, 0, lm_min(lm_pages_of(bytes), 64));
}

LM_INLINE bool lm_span_has_room(const struct lm_span *span) {
  return span->extended_count < span->capacity;
}

/* Blocks on free_list. */
LM_INLINE size_t lm_span_listed_count(const struct lm_span *span) {
  return (size_t)span->extended_count - span->used_count - span->hole_block_count;
}

/* A bit for each block of a span. */
typedef uint64_t lm_block_set[LM_BITMAP_WORDS(LM_SPAN_BLOCKS_MAX)];
/* Sets those of the blocks on `list`, which was the span's free_list, and returns the last of them,
 * LM_NO_BLOCK if there are none. What a program has done to them ends it: a link that leads
 * elsewhere, or twice to a block. The central's lock is held, or the span is away. */
struct lm_block *lm_span_mark_listed(const struct lm_span *span, struct lm_block *list,
                                     lm_block_set is_free);
/* Brings free_list into the order of addresses. The central's lock is held. */
void lm_span_sort_listed(struct lm_span *span);

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

/* Whether one has been carved there. */
LM_INLINE bool lm_span_has_carved_at(const struct lm_span *span, const void *address) {
  size_t offset = lm_span_offset_of(span, address);
  return lm_class_block_at(&lm_classes[span->class_index], offset) < span->extended_count;
}

#if LM_HARDENED_GUARDS
/* The last page of a span is kept free of access where that costs an eighth of its blocks at most:
 * then a program that writes on and on ends there. A system without such pages has none. */
#define LM_SPAN_GUARD_FRACTION 8
#endif

#endif
