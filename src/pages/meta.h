/* Memory for loam's own records that outlive what they describe: caches, centrals, huge blocks. It
 * is never given back; whoever is done with a record keeps it on a list for the next one. */
#ifndef LM_PAGES_META_H
#define LM_PAGES_META_H

#include "base/atomic.h"
#include "base/compiler.h"
#include "os/lock.h"

extern struct lm_lock lm_meta_lock;

/* What records are cut from: each mapping of so many bytes begins with this. */
#define LM_META_BATCH_BYTES (256 * LM_KIB)
struct lm_meta_batch {
  struct lm_meta_batch *next; /* never changes */
};
/* All of them. Stored under the lock with a release, which pairs with the acquire of whoever walks
 * them. */
extern _Atomic(struct lm_meta_batch *) lm_meta_batches;

/* Zero memory aligned to a cache line, or NULL. */
void *lm_meta_take(size_t size);
/* The same aligned to LM_META_PAGE_BYTES, so that the record's parts are in known pages where the
 * system's are as small. */
#define LM_META_PAGE_BYTES 4096
void *lm_meta_take_pages(size_t size);

#endif
