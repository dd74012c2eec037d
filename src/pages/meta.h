/* Memory for loam's own records that outlive what they describe: heaps, huge blocks. It is never
 * given back; whoever is done with a record keeps it on a list for the next one. */
#ifndef LM_PAGES_META_H
#define LM_PAGES_META_H

#include "base/compiler.h"
#include "os/lock.h"

extern struct lm_lock lm_meta_lock;

/* Zero memory aligned to a cache line, or NULL. */
void *lm_meta_take(size_t size);

#endif
