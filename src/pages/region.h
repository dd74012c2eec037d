/* A region: address space reserved at once, aligned to its own size, with all records about its OS
 * pages in a header at its start. The record of any address in it is found by masking. (Rejected:
 * records in front of the blocks of each span. All of them would fight over the same lines of
 * caches.)
 *
 * A process whose address space is limited has shorter ones: they begin at the same alignment and
 * have the first pages of their place. In the maps the others are in use. */
#ifndef LM_PAGES_REGION_H
#define LM_PAGES_REGION_H

#include "base/bits.h"
#include "base/compiler.h"
#include "os/os.h"
#include "pages/provider.h"
#include "pages/span.h"
#include "pages/tags.h"

#define LM_REGION_SLICES (LM_REGION_BYTES >> LM_SLICE_SHIFT)
#define LM_REGION_MAX_PAGES (LM_REGION_BYTES >> 12)

struct lm_pool;

/* Bit i of a map of pages is OS page i of the region; of a map of slices, slice i. What stands
 * before `number` never changes; it and what follows, up to `spans`, is written and read under the
 * pool's lock only. */
struct lm_region {
  struct lm_pool *pool;
  const struct loam_page_provider *provider; /* NULL: the system */
  uint32_t bytes;       /* LM_REGION_BYTES, or less */
  uint32_t first_slice; /* slices before it hold this header */
  bool decommits; /* pages that are not in use may not be accessed before they are committed */
  LM_CACHE_ALIGNED uint32_t number; /* in the pool's directory */
  uint32_t used_page_count;  /* set bits in used_pages, the header's not counted */
  uint32_t dirty_page_count; /* pages that are in dirty_pages and not in used_pages */
  uint32_t run_limit;        /* no longer run of free pages is here */
  /* Byte w: no longer run of free pages ends in word w of used_pages (pages/runs.c). */
  uint64_t run_limits[LM_BITMAP_WORDS(LM_REGION_MAX_PAGES) / 8];
  uint64_t used_slices[LM_BITMAP_WORDS(LM_REGION_SLICES)];      /* any page of it is used */
  uint64_t dirty_slices[LM_BITMAP_WORDS(LM_REGION_SLICES)];     /* any free page may be dirty */
  uint64_t committed_slices[LM_BITMAP_WORDS(LM_REGION_SLICES)]; /* writable, and in cores */
  uint64_t used_pages[LM_BITMAP_WORDS(LM_REGION_MAX_PAGES)];
  /* Written to since they were last fresh; for pages in use, as it was when they were taken. */
  uint64_t dirty_pages[LM_BITMAP_WORDS(LM_REGION_MAX_PAGES)];
  /* Free and dirty at the last turn of the purge clock, and not used since. */
  uint64_t aged_pages[LM_BITMAP_WORDS(LM_REGION_MAX_PAGES)];
  /* Purged as soon as they were free, since the last turn of the clock, and not used since. */
  uint64_t early_pages[LM_BITMAP_WORDS(LM_REGION_MAX_PAGES)];
  LM_CACHE_ALIGNED struct lm_span spans[LM_REGION_SLICES];
  /* For the first page of a middle or large block its length in pages, else 0. Written by whoever
   * takes and frees the block; read by checks of invalid pointers, too. */
  _Atomic(uint32_t) block_pages[LM_REGION_MAX_PAGES];
#if LM_CHECKING || LM_HARDENED_FREES
  /* A bit for every granule: a block that the program has begins there. Any thread, atomically. */
  _Atomic(uint64_t) live_granules[LM_REGION_BYTES / 16 / 64];
#endif
};

/* OS pages for so many bytes. */
LM_INLINE size_t lm_pages_of(size_t bytes) {
  return (bytes + lm_os.page_bytes - 1) >> lm_os.page_shift;
}

LM_INLINE struct lm_region *lm_region_of(const void *address) {
  return (struct lm_region *)((uintptr_t)address & ~(LM_REGION_BYTES - 1));
}

LM_INLINE size_t lm_region_offset(const void *address) {
  return (uintptr_t)address & (LM_REGION_BYTES - 1);
}

/* The record of the block's slice, which need not be the span's first one. */
LM_INLINE struct lm_span *lm_span_record_of(const void *block) {
  return &lm_region_of(block)->spans[lm_region_offset(block) >> LM_SLICE_SHIFT];
}

LM_INLINE struct lm_span *lm_span_of(const void *block) {
  struct lm_span *record = lm_span_record_of(block);
  return record - record->head_distance;
}

/* One multiplication by a power of two, in place of a division by one and a multiplication. */
LM_INLINE char *lm_span_start(const struct lm_span *span) {
  _Static_assert(LM_SLICE_BYTES % sizeof *span == 0, "records are a power of two bytes");
  struct lm_region *region = lm_region_of(span);
  size_t record_offset = (size_t)((const char *)span - (const char *)region->spans);
  return (char *)region + record_offset * (LM_SLICE_BYTES / sizeof *span);
}

/* In block_pages: the block is free, and in a list of a cache's or a depot's: its pages still count
 * as used. */
#define LM_BLOCK_CACHED ((uint32_t)1 << 31)

/* In block_pages: no block of loam's begins here, but one behind a guard within such a block
 * (api/guarded.h). */
#define LM_BLOCK_GUARDED ((uint32_t)1 << 30)

LM_INLINE _Atomic(uint32_t) *lm_region_block_entry(const void *address) {
  return &lm_region_of(address)->block_pages[lm_region_offset(address) >> lm_os.page_shift];
}

/* The length of the large or middle block that begins at `address`, which is in a region; 0 if
 * none does that the program has. */
LM_INLINE size_t lm_region_live_pages(const void *address) {
  if (((uintptr_t)address & (lm_os.page_bytes - 1)) != 0) return 0;
  uint32_t entry = lm_load_relaxed(lm_region_block_entry(address));
  return entry & (LM_BLOCK_CACHED | LM_BLOCK_GUARDED) ? 0 : entry;
}

/* The same of a block that there is, cached or not. */
LM_INLINE size_t lm_region_block_pages(const void *block) {
  return lm_load_relaxed(lm_region_block_entry(block)) & ~LM_BLOCK_CACHED;
}

LM_INLINE void lm_region_set_block_pages(const void *block, size_t page_count) {
  lm_store_relaxed(lm_region_block_entry(block), (uint32_t)page_count);
}

#endif
