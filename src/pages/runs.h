/* Runs of OS pages in a region: which are used, which are dirty, and where free ones may be.
 * All with the lock of the region's pool held. (Rejected: free runs in lists by length. Their links
 * would stand on pages that are to go back, or need records.) */
#ifndef LM_PAGES_RUNS_H
#define LM_PAGES_RUNS_H

#include "pages/pool.h"

LM_INLINE size_t lm_pages_per_slice(void) { return LM_SLICE_BYTES >> lm_os.page_shift; }
/* Slice of an OS page of a region: without a division, which costs as much as a bitmap. */
LM_INLINE size_t lm_slice_of_page(size_t page) {
  return page >> (LM_SLICE_SHIFT - lm_os.page_shift);
}
LM_INLINE size_t lm_pages_per_region(void) { return LM_REGION_BYTES >> lm_os.page_shift; }

LM_INLINE char *lm_page_address(struct lm_region *region, size_t page) {
  return (char *)region + (page << lm_os.page_shift);
}

LM_INLINE size_t lm_page_of(const void *address) {
  return lm_region_offset(address) >> lm_os.page_shift;
}

/* Of a region that is writable as a whole, steps of this length are in cores from when any of their
 * pages is first used, and the others are not: a system call for 512 faults
 * (docs/decisions/cores.md). */
#define LM_CORE_STEP_BYTES lm_min(2 * LM_MIB, LM_REGION_BYTES / 4)

/* Marks free pages as used; `*zero` says whether they read as zero. Returns false, with nothing
 * changed, if they cannot be committed. */
bool lm_runs_take(struct lm_region *region, size_t page, size_t count, bool *zero);

/* The same, but where a purge decommits, the pages are committed by the caller, as far as it needs
 * them, before they are touched. */
bool lm_runs_take_bare(struct lm_region *region, size_t page, size_t count, bool *zero);

/* Marks free pages as used while the caller purges them, which brings none of them back. */
void lm_runs_hold(struct lm_region *region, size_t page, size_t count);

/* Marks used pages as free. Those in dirty_pages, where the caller has set what was written to, are
 * free and dirty from here on. */
void lm_runs_give(struct lm_region *region, size_t page, size_t count);

/* The longest run of free pages of the region's. */
size_t lm_runs_longest(const struct lm_region *region);

/* The highest run of `count` free pages, from the first page of it; LM_BITMAP_NONE, which the
 * pool's directory remembers, if there is none. Words whose runs are too short are passed over. */
size_t lm_runs_find_highest(struct lm_region *region, size_t count);

/* A new region's, whose used pages have been marked: it has one free run. */
void lm_runs_begin(struct lm_region *region);

/* Whether a run of free pages of the length may end at the page, as far as is known: for checks. */
bool lm_runs_limit_allows(const struct lm_region *region, size_t page, size_t length);

/* Byte w of run_limits. */
LM_INLINE size_t lm_runs_limit(const struct lm_region *region, size_t w) {
  return (region->run_limits[w / 8] >> (w % 8 * 8)) & 0xff;
}

#endif
