/* A chunk: 2 MiB of a region that one heap cuts into middle blocks, runs of OS pages.
 *
 * To all that asks for owners a chunk is a span: its slices carry the tag of their owner with the
 * class LM_CLASS_MIDDLE, it is sent remote frees, orphaned and adopted as one. The span's
 * used_count counts pages. Its maps are written by the owner only, without a lock; an orphan's,
 * under the orphans' lock.
 *
 * Pages that no block has and that were written to are purged as those of pools are (pool.h):
 * once they have been free for a while, or early. */
#ifndef LM_PAGES_CHUNK_H
#define LM_PAGES_CHUNK_H

#include "pages/region.h"

/* Bit i of a map is page i of the chunk. */
LM_INLINE struct lm_chunk *lm_chunk_of(const void *address) {
  return &lm_region_of(address)->chunks[lm_region_offset(address) >> LM_CHUNK_SHIFT];
}

LM_INLINE size_t lm_chunk_pages(void) { return LM_CHUNK_BYTES >> lm_os.page_shift; }

LM_INLINE struct lm_chunk *lm_chunk_of_span(const struct lm_span *span) {
  return lm_chunk_of(lm_span_start(span));
}

/* The lowest run of `page_count` free pages, at most LM_CHUNK_RUN_MAX, as a block. NULL if there is
 * none or if it cannot be committed, and then run_limit is below it.
 * With `clear` its memory is zero. `*reused` is the number of its pages that were dirty,
 * `*regretted` of those that had been purged early. */
void *lm_chunk_take(struct lm_span *span, size_t page_count, bool clear, size_t *reused,
                    size_t *regretted);

/* Frees the block that begins at `block` and returns its length in pages. */
size_t lm_chunk_give(struct lm_span *span, void *block);

/* Changes the length of a block where it stands; false, with nothing changed, if pages behind it
 * are in use. `*regretted` as above. */
bool lm_chunk_resize(struct lm_span *span, void *block, size_t page_count, size_t *regretted);

/* Purges free dirty pages until `most` or more are purged, or no effort is left, which it takes
 * from. Returns how many were. */
size_t lm_chunk_purge(struct lm_span *span, size_t most, size_t *effort);

/* Purges free pages that have been dirty since the chunk was last aged, while there is effort left.
 * Once there are none, those that are dirty are aged from here on, until they are used. False if
 * the effort did not do. */
bool lm_chunk_age(struct lm_span *span, size_t *effort);

/* Whether no block has the page of `address`. Exact for the owner only. */
bool lm_chunk_is_free(const void *address);

#endif
