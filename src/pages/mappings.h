/* Mappings of huge blocks that have been freed, kept for the next ones: to map and touch one anew
 * costs a fault for each page. Only while a program takes such blocks again soon after it has freed
 * them, no more than the option cache_bytes says, and until the purge clock has turned; what goes
 * back then goes from its end, some of it in each call. (Rejected: to keep whatever is freed. Who
 * frees a huge block and rests would keep it.) */
#ifndef LM_PAGES_MAPPINGS_H
#define LM_PAGES_MAPPINGS_H

#include "base/compiler.h"
#include "os/lock.h"

#define LM_MAPPINGS_MOST_BYTES (128 * LM_MIB) /* if it does not say any number */

/* The mappings that were given last. */
struct lm_kept_mapping {
  char *address;     /* NULL: it has not been kept, or has been taken again */
  size_t size;       /* what is left of it */
  size_t given_size; /* 0: none has been given */
  uint64_t given_ms;
};
#define LM_KEPT_MAPPINGS 4

extern struct lm_lock lm_mappings_lock;
extern struct lm_kept_mapping lm_kept_mappings[LM_KEPT_MAPPINGS] LM_GUARDED_BY(lm_mappings_lock);
extern size_t lm_mappings_kept_bytes LM_GUARDED_BY(lm_mappings_lock);

/* Keeps a mapping of the system's that a huge block had; false, with nothing done, if it should go
 * back. */
bool lm_mappings_keep(void *address, size_t size);

/* A mapping that was kept, of `*size` bytes or up to a quarter more, which that is set to; it holds
 * anything. NULL if there is none. */
void *lm_mappings_take(size_t *size, size_t alignment);

/* Gives up to `*left` pages of what has been kept for a while back to the system. Returns whether
 * there is more of it. */
bool lm_mappings_tick(uint64_t now_ms, size_t *left);

/* Gives all back. Returns whether there was anything. */
bool lm_mappings_trim(void);

#endif
