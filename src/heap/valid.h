/* What pages/valid.h does, for heaps. */
#ifndef LM_HEAP_VALID_H
#define LM_HEAP_VALID_H

#include "heap/heap.h"
#include "pages/valid.h"

#if LM_VALIDATES
/* Of a heap whose thread calls, between two of its steps. Returns how many blocks of the heap's
 * spans are in use, those on their way home from other heaps included. Takes some nanoseconds for
 * each free block. */
size_t lm_heap_validate(const struct lm_heap *heap);
/* The same for its chunks alone. */
void lm_middle_validate(const struct lm_heap *heap);
#endif

#endif
