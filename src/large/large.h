/* Blocks above the size classes, rounded up to OS pages.
 *
 * Up to LM_LARGE_MAX_BYTES they are runs of pages in a region, which stay with the process for a
 * while when freed. Above, each is a mapping of its own ("huge"), given back at once. */
#ifndef LM_LARGE_LARGE_H
#define LM_LARGE_LARGE_H

#include "base/compiler.h"
#include "heap/heap.h"

#define LM_LARGE_MAX_BYTES (LM_REGION_BYTES / 2)

/* A block of at least `size` bytes, aligned to `alignment`, a power of two; NULL if out of memory.
 * With `clear` it reads as zero. `heap` is the calling thread's, here and below; it may be the
 * empty one. */
void *lm_large_take(struct lm_heap *heap, size_t size, size_t alignment, bool clear);

/* Usable bytes of the block that begins at `address`, which may be any address whose tag is not a
 * heap's or orphan's; 0 if no block begins there. */
size_t lm_large_usable_bytes(const void *address);

/* Gives the block that begins at `address` back; false if none does. The heap may cache it, unless
 * it is the empty one. */
bool lm_large_give(struct lm_heap *heap, void *address);

/* Whether nobody has the memory at `address`, which is in a region; of addresses in spans, false.
 * Without the owner's help: others may take or free it meanwhile. */
bool lm_large_is_free(const void *address);

/* Changes the block's size, in place or by moving its pages; NULL, with nothing changed, if that
 * is not possible and the contents would have to be copied. */
void *lm_large_resize(struct lm_heap *heap, void *block, size_t size);

#endif
