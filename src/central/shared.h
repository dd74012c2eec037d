/* First-class heaps: each is a central of its own, without depots, which any thread uses under its
 * lock, and a list of its middle, large and huge blocks. No cache ever has a block of theirs, so
 * that all memory of such a heap can be given back at once. (Rejected: caches in front of them.
 * What each thread has of a heap's would have to be found first.) */
#ifndef LM_CENTRAL_SHARED_H
#define LM_CENTRAL_SHARED_H

#include "central/central.h"

struct lm_owned;

struct loam_heap {
  struct lm_central central; /* first, since spans name it; its lock is the heap's */
  /* With a page provider of its own the heap has a pool of its own. Both change in begin and end
   * only; the pool is one of all, and its lock one that fork takes, from the first time on. */
  struct loam_page_provider provider;
  struct lm_pool own_pool;
  bool live;               /* between new and destroy; under the lock */
  struct lm_owned *owned;  /* its blocks that are in no span; under lm_owned_lock */
  struct loam_heap *next;  /* of all ever made; never changes */
  struct loam_heap *next_unused; /* under lm_shared_heaps_lock */
};

/* A heap without blocks, whose memory comes from the provider if that is not NULL; NULL if out of
 * memory. */
struct loam_heap *lm_shared_begin(const struct loam_page_provider *provider);
/* A heap without blocks gives the memory of its own provider back, and waits for the next
 * lm_shared_begin. Its lock is not held. */
void lm_shared_end(struct loam_heap *shared);

/* The heap of a block whose tag says that it is of a shared heap (lm_tag_is_shared). */
struct loam_heap *lm_shared_of(const void *block);
/* Frees such a block. */
void lm_shared_free(void *block, void *caller);

/* The lock is held for these. */

/* Gives all spans back, whatever is in use. */
void lm_shared_give_all(struct loam_heap *shared);

/* Calls `visit` for each block in the heap's spans: those carved, in use or free. */
typedef void lm_block_visitor(void *context, void *block, size_t bytes, bool in_use);
void lm_shared_visit(struct loam_heap *shared, lm_block_visitor *visit, void *context);

/* All ever made, linked by next; none ever goes. Stored under the list's lock with a release, which
 * pairs with the acquire of whoever walks them without it. */
extern _Atomic(struct loam_heap *) lm_shared_heaps;

/* For fork: the list's lock, and those of all heaps and their own pools, in this order, while the
 * list's is held. */
extern struct lm_lock lm_shared_heaps_lock;
void lm_shared_for_each_lock(void (*visit)(struct lm_lock *lock));

#endif
