/* Which middle, large and huge blocks belong to a first-class heap: a table by address, and a list
 * for each heap. Other such blocks are not in it, and pay for it with one load when they are freed
 * or resized. (Rejected: a mark in the entry that a region has for each block. Huge blocks have
 * none.) */
#ifndef LM_LARGE_OWNED_H
#define LM_LARGE_OWNED_H

#include "central/shared.h"

struct lm_owned {
  struct lm_owned *next;                              /* in its bucket, or unused */
  struct lm_owned *next_of_heap, *previous_of_heap;
  struct loam_heap *heap;
  void *block;
};

extern struct lm_lock lm_owned_lock;
/* Records in the table. Written under the lock; read without it by frees: whoever has a block that
 * is in the table has been told of it since it was counted. */
extern _Atomic(size_t) lm_owned_count;

/* Adds a block of the heap's. False if out of memory. */
bool lm_owned_add(struct loam_heap *heap, void *block);

/* The heap that the large block belongs to, or NULL. */
struct loam_heap *lm_owned_heap(const void *block);

/* Any block of the heap's; NULL if it has none. */
void *lm_owned_first(struct loam_heap *heap);

/* Takes the block's record out; NULL if it has none. Then to be put in again, or ended. */
struct lm_owned *lm_owned_remove_slow(const void *block);
LM_INLINE struct lm_owned *lm_owned_remove(const void *block) {
  if (LM_LIKELY(lm_load_relaxed(&lm_owned_count) == 0)) return NULL;
  return lm_owned_remove_slow(block);
}
void lm_owned_insert(struct lm_owned *record, void *block);
void lm_owned_end(struct lm_owned *record);

#endif
