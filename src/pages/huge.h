/* Huge blocks: each is a mapping of its own, found by its address in a table. (Rejected: regions
 * for them. A mapping goes back when its block is freed, and grows by page tables.) */
#ifndef LM_PAGES_HUGE_H
#define LM_PAGES_HUGE_H

#include "base/compiler.h"
#include "os/lock.h"
#include "os/os.h"

struct lm_pool;

struct lm_huge_totals {
  size_t count;
  size_t bytes;
};
struct loam_page_provider;
struct lm_huge {
  struct lm_huge *next; /* in its bucket, or unused */
  uintptr_t address;
  size_t size;       /* of the mapping */
  size_t asked_size; /* of that, what was asked for last; the rest is room to grow into */
  const struct loam_page_provider *provider; /* NULL: the system */
  struct lm_pool *pool; /* that it was taken for */
};

#define LM_HUGE_BUCKET_BITS 10
#define LM_HUGE_BUCKET_COUNT ((size_t)1 << LM_HUGE_BUCKET_BITS)

/* All under lm_huge_lock. */
extern struct lm_lock lm_huge_lock;
extern struct lm_huge_totals lm_huge_totals LM_GUARDED_BY(lm_huge_lock);
/* By address. */
extern struct lm_huge *lm_huge_buckets[LM_HUGE_BUCKET_COUNT] LM_GUARDED_BY(lm_huge_lock);

/* Of all huge blocks. */
size_t lm_huge_bytes(void);

/* Memory of `size` bytes, rounded up to pages and maybe more, from the pool's provider, which reads
 * as zero if `clear`; NULL if out of memory. */
void *lm_huge_take(struct lm_pool *pool, size_t size, size_t alignment, bool clear);
/* The same out of what has been kept of freed ones (pages/mappings.h); NULL if there is none. */
void *lm_huge_take_kept(struct lm_pool *pool, size_t size, size_t alignment);
/* A huge block of `size` bytes, rounded up to pages, with the pages of a block in a region of the
 * system's memory, which has `old_bytes`, fewer; that block stays and reads as zero. NULL, with
 * nothing changed, if they cannot be moved. */
void *lm_huge_take_pages(struct lm_pool *pool, void *block, size_t old_bytes, size_t size);
/* Bytes of the huge block that begins at `address`; 0 if none does. */
size_t lm_huge_usable_bytes(const void *address);
/* Where the huge block begins that holds the address; NULL if none does. Looks at all of them. */
char *lm_huge_start(const void *address);
bool lm_huge_holds(const void *address);
#if LM_OS_TELLS_USAGE
void lm_huge_add_usage(struct lm_os_usage *usage);
#endif
/* False if no huge block begins there. */
bool lm_huge_give(void *address);
/* The block with its new size or more, moved if need be; NULL, with nothing changed, if that
 * fails. */
void *lm_huge_resize(void *block, size_t size);

#endif
