/* Middle blocks: runs of OS pages in chunks of the heap's own, taken and freed without a lock.
 *
 * A block comes from the chunk whose longest free run is the shortest that will do, so that the
 * fuller chunks are filled first and the emptier ones become empty. A heap keeps one empty chunk.
 * In front of that stand the blocks freed last, by their length.
 *
 * Free dirty pages are purged when they have been free for a half to the whole of
 * the option purge_delay_ms, and early under the same rules as a pool's (pages/pool.h), with a
 * smaller credit. */
#ifndef LM_HEAP_MIDDLE_H
#define LM_HEAP_MIDDLE_H

#include "heap/heap.h"
#include "heap/visit.h"
#include "os/misuse.h"
#include "pages/chunk.h"

#define LM_PAGE_MIN_BYTES 4096 /* no system has smaller pages */
#define LM_MIDDLE_MAX_BYTES (256 * LM_KIB)

/* Bits of lm_middle.lengths that will do for each length: a cached block may be longer than what is
 * asked for by a fifth. */
extern const uint64_t lm_middle_fitting[LM_CHUNK_RUN_MAX];

/* The cached block of `index` + 1 pages that was freed last; there is one. */
LM_INLINE void *lm_middle_pop(struct lm_middle *middle, size_t index) {
  struct lm_cached *block = middle->cached[index];
  if (LM_UNLIKELY(((uintptr_t)block->next & (LM_PAGE_MIN_BYTES - 1)) != 0))
    lm_misuse_write_after_free(block);
  middle->cached[index] = block->next;
  middle->cache_room += (ptrdiff_t)index + 1;
  if (LM_UNLIKELY(block->next == NULL)) middle->lengths &= ~((uint64_t)1 << index);
  lm_store_relaxed(block->entry, (uint32_t)index + 1);
  return block;
}

/* A cached block of `index` + 1 pages or up to a fifth more, its contents what they were; NULL if
 * there is none. */
LM_INLINE void *lm_middle_take_cached(struct lm_middle *middle, size_t index) {
  uint64_t fitting = middle->lengths & lm_middle_fitting[index];
  if (LM_UNLIKELY(fitting == 0)) return NULL;
  middle->guests_left += index + 1;
  return lm_middle_pop(middle, (unsigned)__builtin_ctzll(fitting));
}

/* The same for a heap that the thread is not in; NULL also if it is. */
LM_INLINE void *lm_middle_take_at_once(struct lm_heap *heap, size_t index) {
  if (LM_UNLIKELY(!lm_heap_enter_alone(heap))) return NULL;
  void *block = lm_middle_take_cached(&heap->middle, index);
  lm_heap_leave_at_last(heap);
  return block;
}

/* A block of `page_count` pages, with `clear` all zero; NULL if out of memory. */
void *lm_middle_take(struct lm_heap *heap, size_t page_count, bool clear);

/* Keeps a free block of `index` + 1 pages for the next call that wants them. */
LM_INLINE void lm_middle_push(struct lm_middle *middle, void *address, _Atomic(uint32_t) *entry,
                              size_t index) {
  struct lm_cached *block = address;
  block->entry = entry;
  lm_store_relaxed(entry, (uint32_t)(index + 1) | LM_BLOCK_ON_ITS_WAY);
  block->next = middle->cached[index];
  middle->cached[index] = block;
  middle->lengths |= (uint64_t)1 << index;
  middle->cache_room -= (ptrdiff_t)index + 1;
}

/* A heap that a free alone has entered: releases blocks if too many are cached, looks at the clock
 * if it is time, and leaves it. */
void lm_middle_give_slow(struct lm_heap *heap);

/* Frees a block of so many pages whose heap the thread is in, or which is parked. */
void lm_middle_give_inside(struct lm_heap *heap, void *block, size_t page_count);

/* Frees a block of the heap's own. False, with nothing done, if none begins there. */
LM_INLINE bool lm_middle_give(struct lm_heap *heap, void *block) {
  struct lm_middle *middle = &heap->middle;
  if (LM_UNLIKELY(((uintptr_t)block & (lm_os.page_bytes - 1)) != 0)) return false;
  _Atomic(uint32_t) *entry = lm_region_block_entry(block);
  uint32_t index = lm_load_relaxed(entry) - 1;
  if (LM_UNLIKELY(index >= LM_CHUNK_RUN_MAX)) return false; /* no block, or one on its way */
  if (LM_UNLIKELY(!lm_heap_enter_alone(heap))) {
    lm_middle_give_inside(heap, block, index + 1);
    return true;
  }
  lm_middle_push(middle, block, entry, index);
  /* A thread that only frees must see the clock too. */
  if (LM_UNLIKELY(middle->cache_room < 0) || LM_UNLIKELY(--middle->calls_to_tick == 0))
    lm_middle_give_slow(heap);
  else lm_heap_leave_at_last(heap);
  return true;
}

/* Pages of guests that the cache takes once malloc has found no block that fits, beside as many as
 * malloc takes out of it: who only frees keeps few, however much its cache could. */
LM_INLINE size_t lm_middle_guests_most(void) { return LM_MIB >> lm_os.page_shift; }

/* Frees a block of another thread's heap by keeping it as a guest. False, with nothing done, if the
 * cache has no room or has taken enough of them, or if no block begins there. */
LM_INLINE bool lm_middle_keep_guest(struct lm_heap *heap, void *block) {
  struct lm_middle *middle = &heap->middle;
  if (LM_UNLIKELY(((uintptr_t)block & (lm_os.page_bytes - 1)) != 0)) return false;
  _Atomic(uint32_t) *entry = lm_region_block_entry(block);
  uint32_t index = lm_load_relaxed(entry) - 1;
  if (LM_UNLIKELY(index >= LM_CHUNK_RUN_MAX)) return false; /* no block, or one on its way */
  if (LM_UNLIKELY(!lm_heap_enter_alone(heap))) return false;
  size_t left = lm_min(middle->guests_left, lm_middle_guests_most());
  bool takes_it = left > index && middle->cache_room > (ptrdiff_t)index;
  if (takes_it) {
    middle->guests_left = left - (index + 1);
    lm_middle_push(middle, block, entry, index);
  }
  lm_heap_leave_at_last(heap);
  return takes_it;
}

/* Puts `count` blocks of own chunks back, linked from `first`: into the cache, or in a visit, whose
 * heap does not need them soon, into their chunks. */
void lm_middle_put_back(struct lm_heap *heap, struct lm_block *first, size_t count);

/* Changes the length of a block of the heap's own where it stands; false if that is not
 * possible. */
bool lm_middle_resize(struct lm_heap *heap, void *block, size_t page_count);

/* Free pages in blocks that are cached, guests among them. */
size_t lm_middle_cached_count(const struct lm_heap *heap);

/* Of the pages of the heap's own chunks, about those that the program has. */
size_t lm_middle_live_count(const struct lm_heap *heap);

/* Marks a block of somebody else's as on its way back. False if none begins there. */
bool lm_middle_send(void *block);

/* For a heap that is all zero. */
void lm_middle_begin(struct lm_heap *heap);

/* Forgets what was learnt: another thread will have the heap. */
void lm_middle_forget(struct lm_heap *heap);

/* What the clock asks for: adds to the credit, and begins a round in which cached blocks go back
 * and what has been free for a while is purged. */
void lm_middle_tick(struct lm_heap *heap, uint64_t elapsed_ms);
/* Goes on with the round, if one is under way, as far as the effort does, which it takes from. */
void lm_middle_go_on(struct lm_heap *heap, size_t *effort);

/* Purges all that is free, and gives empty chunks back. */
void lm_middle_trim(struct lm_heap *heap);

/* A new chunk, or one that was an orphan, is the heap's from here on. */
void lm_middle_own(struct lm_heap *heap, struct lm_span *span);

/* Releases cached blocks, `most` at most. False if there are more. */
bool lm_middle_release(struct lm_heap *heap, size_t most);

/* Takes any chunk out of the heap, which caches no blocks; NULL if it has none. */
struct lm_span *lm_middle_remove(struct lm_heap *heap);

#endif
