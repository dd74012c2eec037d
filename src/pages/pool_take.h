/* Taking runs of OS pages from a pool, and giving them back. Spans take whole slices from the low
 * end of a region, middle and large blocks take pages from the high end; spans prefer slices with
 * dirty pages (the process has them already) to fresh ones.
 * (Rejected: chunks of 2 MiB that each thread cuts by itself. No other thread can have their
 * pages.) */
#ifndef LM_PAGES_POOL_TAKE_H
#define LM_PAGES_POOL_TAKE_H

#include "pages/pool.h"

/* Asks for huge pages, as the option says, in regions that were made before it was read. */
void lm_pool_begin_huge(void);

/* Gives all regions of a heap's own pool back. Nobody uses anything in them. */
void lm_pool_release(struct lm_pool *pool);

/* A run of `slice_count` slices, up to LM_SPAN_MAX_SLICES. Bit i of `*dirty_pages`: OS page i may
 * have been written to; the others read as zero. NULL if out of memory. */
void *lm_pool_take_slices(struct lm_pool *pool, size_t slice_count, uint64_t *dirty_pages);

/* Gives a span's slices back; bit i of `dirty_pages`: OS page i may have been written to. The
 * caller has cleared their tags. */
void lm_pool_give_slices(void *start, size_t slice_count, uint64_t dirty_pages);

/* Gives the OS pages within [start, end), which a span has but does not use yet, back to the
 * system. False if it does not take them. */
bool lm_pool_purge_unused(char *start, char *end);

#if defined(__linux__)
/* From here on pages may be accessed only once they are used: for a process that locks all that it
 * may access. */
void lm_pool_commit_as_used(void);
#endif

/* A large block of `page_count` pages, aligned to `alignment`, a power of two. `*zero` as above;
 * if it is not, lm_pool_clear_large clears it. NULL if out of memory. */
void *lm_pool_take_large(struct lm_pool *pool, size_t page_count, size_t alignment, bool *zero);

/* The same, aligned to an OS page, with `gap_count` free pages above it if there is such a place
 * where it would stand: lm_pool_resize_large can use them until other blocks need them. */
void *lm_pool_take_growing(struct lm_pool *pool, size_t page_count, size_t gap_count);

/* How many pages of a fresh large block the process has already. */
size_t lm_pool_dirty_pages(const void *block, size_t page_count);

/* Sets the pages of a fresh large block to zero without touching those that are. */
void lm_pool_clear_large(void *block, size_t page_count);

/* Whether the page of `address`, which is in a region, is in use by nobody. */
bool lm_pool_is_free(const void *address);

/* Gives a large block back. False if no large block begins there (any longer). */
bool lm_pool_give_large(void *block);

/* Changes the length of a large block where it stands; false if that is not possible. */
bool lm_pool_resize_large(void *block, size_t page_count);

/* After the pages of a large block have been moved away: they are fresh again. */
void lm_pool_forget_large(void *block);

#endif
