#include "api/allocate.h"

#include <errno.h>
#include <string.h>

#include "api/background.h"
#include "api/foreign.h"
#include "api/guarded.h"
#include "api/hardened.h"
#include "api/profile.h"
#include "config/options.h"
#include "heap/inspect.h"
#include "heap/middle.h"
#include "heap/orphan.h"
#include "heap/remote.h"
#include "heap/shared.h"
#include "heap/span_life.h"
#include "heap/visit.h"
#include "heap/watch.h"
#include "large/large.h"
#include "os/misuse.h"
#include "os/os.h"

LM_THREAD_LOCAL struct lm_heap *lm_this_heap = &lm_empty_heap;
LM_THREAD_LOCAL struct lm_heap *lm_malloc_heap = &lm_empty_heap;
/* This thread's heap has been ended by the thread's end, and the thread still runs. */
LM_THREAD_LOCAL bool lm_thread_ended = false;

static bool is_span_tag(uint32_t tag) { return tag >= LM_OWNER_ORPHAN << LM_TAG_OWNER_SHIFT; }
static bool is_thread_span_tag(uint32_t tag) { return is_span_tag(tag) && !lm_tag_is_shared(tag); }
static bool is_middle_tag(uint32_t tag) {
  return is_span_tag(tag) && (tag & LM_TAG_CLASS_MASK) == LM_CLASS_MIDDLE;
}

/* ---- The option fill: malloc finds all bins empty and free no block its own, so that each call
 * takes the slow path, which fills. Without it nothing is looked at on any other path. ---- */

#define FILL_TAKEN 0xa5
#define FILL_FREED 0x5a

static bool fills(void) { return LM_UNLIKELY(LM_OPTION(fill) != LM_FILL_OFF); }
static bool fills_freed(void) { return LM_UNLIKELY(LM_OPTION(fill) == LM_FILL_JUNK); }

void lm_fill_watch(void) {
  if (!fills()) return;
  LM_THREAD(lm_malloc_heap) = &lm_empty_heap;
  if (!fills_freed() || lm_heap_is_empty(LM_THREAD(lm_this_heap))) return;
  lm_store_relaxed(&LM_THREAD(lm_this_heap)->free_tag, LM_TAG_NO_HEAP);
}

void lm_fill_new(void *start, size_t bytes) {
  if (fills()) memset(start, fills_freed() ? FILL_TAKEN : 0, bytes);
}

/* A new block, of which the first `cleared` bytes are zero if they should be; or one that was so
 * long, and has become longer. */
static void *fill_taken(void *block, size_t cleared) {
  if (block == NULL) return NULL;
  size_t bytes = lm_raw_usable_bytes(block);
  if (bytes > cleared) lm_fill_new((char *)block + cleared, bytes - cleared);
  return block;
}

/* Any address that is freed; nothing if no block begins there. */
static LM_COLD void fill_freed(void *address) {
  uint32_t tag = lm_tag_of(address);
  size_t bytes = 0;
  if (!is_span_tag(tag) || is_middle_tag(tag)) bytes = lm_large_usable_bytes(address);
  else if (lm_span_has_block_at(lm_span_of(address), address))
    bytes = lm_classes[tag & LM_TAG_CLASS_MASK].block_bytes;
  if (bytes != 0 && !lm_tag_is_shared(tag)) memset(address, FILL_FREED, bytes);
}

/* ---- A thread's begin and end ---- */

static void set_heap(struct lm_heap *heap) {
  LM_THREAD(lm_this_heap) = heap;
  LM_THREAD(lm_malloc_heap) = heap;
  lm_fill_watch();
}

/* Free blocks; each costs some nanoseconds. */
#define INSPECTED_AT_THREAD_END 64

void lm_thread_end(void *heap) {
  lm_profile_leave(heap);
  lm_hardened_let_go(heap);
  set_heap(&lm_empty_heap);
  LM_THREAD(lm_thread_ended) = true;
  lm_heap_enter(heap);
  lm_inspect_heap(heap, 0, INSPECTED_AT_THREAD_END);
  lm_heap_leave(heap);
  lm_heap_end(heap);
}

/* The thread's heap, made if there is none yet. NULL if out of memory, or if it has ended or could
 * not be. */
static struct lm_heap *this_heap(void) {
  struct lm_heap *heap = LM_THREAD(lm_this_heap);
  if (LM_LIKELY(!lm_heap_is_empty(heap))) return heap;
  lm_process_start();
  if (LM_THREAD(lm_thread_ended)) return NULL;
  lm_os_thread_begins();
  heap = lm_heap_begin();
  if (heap == NULL) return NULL;
  set_heap(heap);
  if (heap->tick.refill_count == 0) lm_watch_closely(heap); /* it has never had a thread */
  /* These may allocate, which by now works. */
  if (LM_UNLIKELY(lm_background_is_due)) lm_background_start();
  if (LM_LIKELY(lm_os_thread_end_arm(heap))) return heap;
  /* Nobody would end it. The next call tries again. */
  set_heap(&lm_empty_heap);
  lm_heap_end(heap);
  return NULL;
}

/* For large blocks, which can do without a heap. */
static struct lm_heap *heap_or_empty(void) {
  struct lm_heap *heap = this_heap();
  return heap != NULL ? heap : &lm_empty_heap;
}

/* ---- malloc ---- */

/* A tick has found that one of the thread's next blocks is to be guarded: its next call takes the
 * slow path. */
static LM_COLD void guard_soon(const struct lm_heap *heap) {
  if (heap == LM_THREAD(lm_this_heap)) LM_THREAD(lm_malloc_heap) = &lm_empty_heap;
}

static LM_NOINLINE void *take_when_empty(struct lm_heap *heap, size_t class_index, bool *zero) {
  void *block = lm_heap_take_slow(heap, class_index, zero);
  if (LM_UNLIKELY(heap->guard.soon)) guard_soon(heap);
  return block;
}

void *lm_take(struct lm_heap *heap, size_t size, bool clear) {
  if (size > lm_classed_max_bytes) return lm_large_take(heap, size, lm_os.page_bytes, clear);
  bool zero = false;
  size_t class_index = lm_sizeclass_of(size == 0 ? 1 : size);
  void *block = lm_heap_pop(heap, class_index);
  if (block == NULL) block = take_when_empty(heap, class_index, &zero);
  if (clear && !zero && block != NULL) memset(block, 0, size);
  return block;
}

/* For a thread that has ended its heap: a heap for this one block, which is an orphan's then. */
static LM_COLD void *take_after_end(size_t size, bool clear) {
  struct lm_heap *heap = lm_heap_begin();
  if (heap == NULL) return NULL;
  void *block = lm_take(heap, size, clear);
  lm_heap_end(heap);
  return fills() && !clear ? fill_taken(block, 0) : block;
}

/* One of the next small blocks is guarded: until then each call takes the slow path. */
static LM_COLD void *take_sampled(struct lm_heap *heap, size_t size, bool clear) {
  void *block = NULL;
  if (heap->guard.skips != 0) {
    heap->guard.skips--;
  } else if (size <= lm_classed_max_bytes) {
    heap->guard.soon = false;
    block = lm_sampled_take(size, clear);
  }
  if (heap->guard.soon) guard_soon(heap);
  return block != NULL ? block : lm_take(heap, size, clear);
}

static void *take_elsewhere_unfilled(struct lm_heap *heap, size_t size, bool clear) {
  if (lm_heap_is_empty(LM_THREAD(lm_malloc_heap))) {
    LM_THREAD(lm_malloc_heap) = heap;
    if (LM_UNLIKELY(lm_background_is_due)) lm_background_start();
    lm_watch_malloc(heap);
  }
  if (lm_profile_is_on()) return lm_profile_take(heap, size, clear);
  /* The profile may have ended while malloc looked into the empty heap, and not into the window. */
  if (LM_UNLIKELY(heap->profile.window != NULL)) lm_profile_leave(heap);
  return LM_UNLIKELY(heap->guard.soon) ? take_sampled(heap, size, clear)
                                        : lm_take(heap, size, clear);
}

static LM_COLD void *take_filled(struct lm_heap *heap, size_t size, bool clear) {
  bool zero = clear || !fills_freed();
  void *block = take_elsewhere_unfilled(heap, size, zero);
  LM_THREAD(lm_malloc_heap) = &lm_empty_heap;
  return clear ? block : fill_taken(block, fills_freed() ? 0 : size);
}

/* While the heap watches the clock, a profile is taken, or one was, or blocks are filled. */
static LM_NOINLINE void *take_elsewhere(struct lm_heap *heap, size_t size, bool clear) {
  return fills() ? take_filled(heap, size, clear) : take_elsewhere_unfilled(heap, size, clear);
}

static void *take_any(size_t size, bool clear) {
  if (LM_UNLIKELY(size > LM_REQUEST_MAX_BYTES)) return NULL;
  struct lm_heap *heap = this_heap();
  if (LM_UNLIKELY(heap == NULL)) return take_after_end(size, clear);
  if (LM_UNLIKELY(LM_THREAD(lm_malloc_heap) != heap)) return take_elsewhere(heap, size, clear);
  return lm_take(heap, size, clear);
}

/* One of the first blocks of the process, or NULL. While a profile is taken there is none: then
 * this is where threads begin to take part. */
static LM_NOINLINE void *take_guarded(size_t size, bool clear) {
  struct lm_heap *heap = this_heap();
  lm_profile_obey();
  if (lm_profile_is_on())
    return heap != NULL && size <= LM_REQUEST_MAX_BYTES ? take_elsewhere(heap, size, clear) : NULL;
  bool has_guards = !LM_CHECKING && !fills(); /* whatever a profile that has just ended has left */
  if (heap == NULL || lm_load_relaxed(&lm_pools[0].provider) != NULL || !has_guards) return NULL;
  void *block = lm_guarded_take(size);
  size_t run_bytes = lm_guarded_run_bytes(size);
  if (block != NULL || run_bytes == 0) return block;
  void *run = take_any(run_bytes, clear);
  return run != NULL ? lm_guarded_make_run(run, size) : NULL;
}

/* For calls that say no more than a size. */
LM_INLINE void *take_first_or_any(size_t size, bool clear) {
  if (LM_UNLIKELY(lm_guarded_is_on())) {
    void *block = take_guarded(size, clear);
    if (block != NULL) return block;
  }
  return take_any(size, clear);
}

static LM_NOINLINE void *malloc_any(size_t size) {
  void *block = take_first_or_any(size, false);
  if (LM_UNLIKELY(block == NULL)) errno = ENOMEM;
  return block;
}

/* A guarded block, if there are any, and not one of another class. */
static LM_COLD void *malloc_guarded(struct lm_heap *heap, size_t class_index, size_t size) {
  void *block = take_guarded(size, false);
  if (block == NULL) block = lm_heap_borrow(heap, class_index);
  if (block == NULL) block = take_any(size, false);
  if (LM_UNLIKELY(block == NULL)) errno = ENOMEM;
  return block;
}

/* Apart, so that malloc_slow need not save what calls change. */
static LM_NOINLINE void *malloc_when_empty(struct lm_heap *heap, size_t class_index, size_t size) {
  void *block = NULL;
  if (LM_LIKELY(lm_heap_has_spans(heap))) {
    if (LM_UNLIKELY(lm_guarded_is_on())) return malloc_guarded(heap, class_index, size);
    block = lm_heap_borrow(heap, class_index);
  } else if (!lm_heap_is_empty(heap)) {
    block = lm_profile_refill(heap, class_index);
  }
  return block != NULL ? block : malloc_any(size);
}

LM_NOINLINE void *lm_malloc_slow(size_t size) {
  struct lm_heap *heap = LM_THREAD(lm_malloc_heap);
  if (LM_LIKELY(size - 1 < lm_classed_max_bytes)) {
    size_t class_index = lm_sizeclass_of(size);
    void *block = lm_heap_pop(heap, class_index);
    if (LM_LIKELY(block != NULL)) return block;
    return malloc_when_empty(heap, class_index, size);
  } else if (LM_LIKELY(size - 1 < LM_MIDDLE_MAX_BYTES)) {
    void *block = lm_middle_take_at_once(heap, (size - 1) >> lm_os.page_shift);
    if (LM_LIKELY(block != NULL)) return block;
  }
  return malloc_any(size);
}

void *lm_raw_calloc(size_t size) {
  struct lm_heap *heap = LM_THREAD(lm_malloc_heap);
  if (LM_LIKELY(size <= LM_SMALL_MAX_BYTES)) {
    void *block = lm_heap_pop(heap, (size + LM_GRANULE_BYTES - 1) / LM_GRANULE_BYTES);
    if (LM_LIKELY(block != NULL)) return memset(block, 0, size);
  }
  return take_first_or_any(size, true);
}

static LM_NOINLINE void *take_by_alignment(size_t size) {
  struct lm_heap *heap = lm_profile_is_on() ? this_heap() : NULL;
  return heap != NULL ? take_elsewhere(heap, size, false) : take_any(size, false);
}

void *lm_raw_memalign(size_t alignment, size_t size) {
  if (alignment <= LM_GRANULE_BYTES) return lm_raw_malloc(size);
  if (size > LM_REQUEST_MAX_BYTES || alignment > PTRDIFF_MAX / 2) return NULL;
  /* Blocks up to this are as long as they have to be, and spans begin at multiples of more; but
   * none is borrowed from another class. */
  size_t rounded = lm_align_up(size == 0 ? 1 : size, alignment);
  if (LM_LIKELY(rounded <= LM_SMALL_MAX_BYTES)) {
    void *block = lm_heap_pop(LM_THREAD(lm_malloc_heap), rounded / LM_GRANULE_BYTES);
    return LM_LIKELY(block != NULL) ? block : take_by_alignment(rounded);
  }
  size_t class_index = lm_sizeclass_of_aligned(alignment, size);
  if (class_index != 0) return take_by_alignment(lm_classes[class_index].block_bytes);
  struct lm_heap *heap = heap_or_empty();
  alignment = lm_max(alignment, lm_os.page_bytes);
  if (fills()) return fill_taken(lm_large_take(heap, size, alignment, false), 0);
  if (LM_UNLIKELY(lm_profile_is_on())) return lm_profile_take_large(heap, size, alignment, false);
  return lm_large_take(heap, size, alignment, false);
}

/* ---- free ---- */

uint32_t lm_tag_of(const void *address) {
  if (LM_LIKELY(lm_tags.multiplier != 0)) return lm_tags_read(address);
  if ((uintptr_t)address % LM_GRANULE_BYTES != 0 || !lm_region_holds((uintptr_t)address)) return 0;
  struct lm_region *region = lm_region_of(address);
  return lm_load_relaxed(&region->spans[lm_region_offset(address) >> LM_SLICE_SHIFT].tag);
}

/* Not a block of heaps' and pools': a guarded one, or says what is wrong as well as can be told. */
static LM_COLD void free_invalid(void *address, void *caller) {
  if (lm_guarded_holds(address)) {
    lm_raw_free(lm_guarded_end(address, caller));
    return;
  }
  if (lm_region_holds((uintptr_t)address) && lm_large_is_free(address))
    lm_misuse_double_free(address, caller);
  lm_foreign_free(address, caller);
}

/* Apart, so that a free of a large block saves no registers for it. */
static LM_NOINLINE void free_remote(void *block, uint32_t tag, void *caller) {
  size_t class_index = tag & LM_TAG_CLASS_MASK;
  struct lm_heap *heap = this_heap();
  if (LM_UNLIKELY(class_index == LM_CLASS_MIDDLE)) {
    bool may_pass = heap != NULL && lm_tag_is_threads(tag);
    if (may_pass && lm_middle_keep_guest(heap, block)) return;
    if (!lm_middle_send(block)) {
      free_invalid(block, caller);
      return;
    }
    if (may_pass && lm_remote_is_unanswered(heap) && lm_transfer_give_middle(heap, block)) return;
  }
  if (LM_LIKELY(heap != NULL)) lm_remote_free(heap, block, class_index);
  else lm_remote_free_now(block);
}

/* A compiler that sees that this never returns would have free call it, and not jump to it, and
 * keep the stack aligned for that on all paths. */
LM_COLD void lm_free_twice(void *block, void *caller) {
  bool twice = true;
  __asm__("" : "+r"(twice));
  if (twice) lm_misuse_double_free(block, caller);
}

LM_INLINE void free_own_middle(void *block, void *caller) {
  if (LM_UNLIKELY(!lm_middle_give(LM_THREAD(lm_this_heap), block))) free_invalid(block, caller);
}

/* A block of another heap, of none, a large one, or no block. */
static LM_NOINLINE void free_other(void *address, void *caller) {
  if (address == NULL) return;
  uint32_t tag = lm_tag_of(address);
  struct lm_heap *heap = LM_THREAD(lm_this_heap);
  uint32_t difference = tag ^ heap->tag;
  if (LM_LIKELY(is_thread_span_tag(tag) && difference >= LM_TAG_OWN_LIMIT)) {
    free_remote(address, tag, caller);
  } else if (lm_tag_is_shared(tag)) {
    lm_profile_freed_shared(address);
    if (!lm_shared_free(address, caller)) free_invalid(address, caller);
  } else if (difference >= LM_TAG_OWN_LIMIT) {
    lm_profile_freed_large(address);
    if (!lm_large_give(heap, address)) free_invalid(address, caller);
  } else if (is_middle_tag(tag)) { /* this and the next only where there is no table of tags */
    free_own_middle(address, caller);
  } else {
    struct lm_block *block = address;
    lm_heap_enter(heap);
    if (lm_heap_put_back(heap, lm_span_of(block), block, block, 1)) lm_heap_tick(heap);
    lm_heap_leave(heap);
  }
}

/* A block that one is compared with which is looked at closely: so many of its bin. */
#define COMPARED_CLOSELY 16

/* Any address, while the heap watches the clock. */
static void free_watched(struct lm_heap *heap, void *address, void *caller) {
  struct lm_block *block = address;
  uint32_t tag = lm_tags_read(block), difference = tag ^ heap->tag;
  if (difference < LM_TAG_SMALL_LIMIT) {
    lm_heap_enter(heap);
    lm_inspect_freed(heap, block, tag & LM_TAG_CLASS_MASK,
                     heap->close_looks != 0 ? COMPARED_CLOSELY : 1, caller);
    lm_heap_leave(heap);
  }
  if (fills_freed()) fill_freed(block);
  if (difference < LM_TAG_BIN_LIMIT) lm_heap_free_own(heap, difference, block);
  else if (difference < LM_TAG_SMALL_LIMIT) lm_heap_free_to_sentinel(heap, block);
  else if (difference < LM_TAG_OWN_LIMIT) free_own_middle(block, caller);
  else if (!lm_heap_keep_guest(heap, block, tag & LM_TAG_CLASS_MASK) &&
           !lm_remote_join(heap, block))
    free_other(block, caller);
  lm_heap_enter(heap);
  if (!lm_watch_free(heap) || heap->guard.soon) LM_THREAD(lm_malloc_heap) = &lm_empty_heap;
  lm_heap_leave(heap);
}

static LM_NOINLINE void free_rare(struct lm_heap *heap, void *block, void *caller) {
  if (lm_watches(heap)) {
    free_watched(heap, block, caller);
    return;
  }
  if (fills_freed()) fill_freed(block);
  free_other(block, caller);
}

/* The difference's highest bit is set if the heap watches the clock, but for blocks of first-class
 * heaps, and for these if it does not. */
LM_NOINLINE void lm_free_slow(void *block, uint32_t difference, void *caller) {
  struct lm_heap *heap = LM_THREAD(lm_this_heap);
  if (LM_UNLIKELY(difference < LM_TAG_SMALL_LIMIT)) lm_heap_free_to_sentinel(heap, block);
  else if (LM_LIKELY(difference < LM_TAG_OWN_LIMIT)) free_own_middle(block, caller);
  else if (LM_UNLIKELY(difference >> 31 != 0)) free_rare(heap, block, caller);
  else if (!lm_heap_keep_guest(heap, block, difference & LM_TAG_CLASS_MASK) &&
           !lm_remote_join(heap, block))
    free_other(block, caller);
}

/* ---- Sizes ---- */

size_t lm_raw_usable_bytes(const void *address) {
  uint32_t tag = lm_tag_of(address);
  if (is_span_tag(tag) && !is_middle_tag(tag))
    return lm_classes[tag & LM_TAG_CLASS_MASK].block_bytes;
  if (LM_UNLIKELY(lm_guarded_holds(address)))
    return lm_guarded_size(address, "malloc_usable_size", NULL);
  return lm_large_usable_bytes(address);
}

/* Whether realloc has ever left a block where it was since there was no memory to shrink it into:
 * then one may be longer by any amount. Written and read by any thread. */
static _Atomic(uint32_t) has_left_long;

/* realloc could not shrink the block, which stays: errno must not tell. */
static LM_COLD void *leave_long(void *block) {
  lm_store_relaxed(&has_left_long, 1);
  return block;
}

void lm_compare_size(const void *address, size_t size, bool aligned, void *caller) {
  size_t bytes = lm_raw_usable_bytes(address);
  if (bytes == 0 || (size <= bytes && (aligned || bytes - size <= lm_size_slack(bytes)))) return;
  if (size <= bytes && lm_load_relaxed(&has_left_long) != 0) return;
  if (LM_OPTION(mismatch) == LM_MISMATCH_ABORT) lm_misuse_wrong_size(address, size, caller);
}

LM_NOINLINE void lm_free_sized_slow(void *address, size_t size, bool aligned, void *caller) {
  lm_compare_size(address, size, aligned, caller);
  lm_raw_free(address);
}

/* ---- realloc ---- */

/* One that moves to grow becomes longer by this part at least, for the next time. */
#define GROWTH_FRACTION 8

/* For blocks with a class: whether one is good for the size as it is, and how many bytes to move it
 * to if not. */
LM_INLINE bool fits(size_t block_bytes, size_t size) {
  return size <= block_bytes && (size > block_bytes / 2 || block_bytes <= LM_KEEP_MAX_BYTES);
}
LM_INLINE size_t room_for(size_t old_bytes, size_t size) {
  return size <= old_bytes ? size : lm_max(size, old_bytes + old_bytes / GROWTH_FRACTION);
}

LM_INLINE void *move(void *block, size_t old_bytes, size_t size, size_t room) {
  void *copy = size > old_bytes ? lm_raw_malloc(room) : take_any(size, false);
  if (LM_UNLIKELY(copy == NULL)) return size > old_bytes ? NULL : leave_long(block);
  memcpy(copy, block, lm_min(size, old_bytes));
  lm_raw_free(block);
  return copy;
}

/* A block that is free: the mistakes of free are realloc's, too. */
static LM_COLD void *realloc_freed(void *block, void *caller) {
  lm_misuse_not_a_start(block, "realloc", caller);
}

/* A guarded block becomes shorter where it is; what moves to grow is guarded no longer. */
static void *realloc_guarded(void *block, size_t size, void *caller) {
  size_t old_bytes = lm_guarded_size(block, "realloc", caller);
  bool stays = size <= old_bytes && size > old_bytes / 2;
  void *copy = stays ? NULL : take_any(room_for(old_bytes, size), false);
  if (copy == NULL) {
    if (size > old_bytes) return NULL;
    lm_guarded_shorten(block, size);
    return block;
  }
  memcpy(copy, block, lm_min(size, old_bytes));
  lm_raw_free(lm_guarded_end(block, caller));
  return copy;
}

/* While there are samples, a block that is resized is a new one to the profile. A middle one of a
 * first-class heap, which may be a sample, then moves. */
static LM_NOINLINE void *resize_in_profile(void *block, size_t size) {
  uint32_t tag = lm_tag_of(block);
  if (is_middle_tag(tag) && lm_tag_is_shared(tag)) return NULL;
  struct lm_heap *heap = heap_or_empty();
  if (!is_middle_tag(tag)) lm_profile_freed_large(block);
  void *resized = lm_large_resize(heap, block, size);
  return resized != NULL && lm_profile_is_on() ? lm_profile_resized(heap, resized, size) : resized;
}

static void *resize_large(void *block, size_t size) {
  if (LM_UNLIKELY(lm_profile_is_on()) ||
      LM_UNLIKELY(lm_load_relaxed(&lm_profile_large_count) != 0))
    return resize_in_profile(block, size);
  return lm_large_resize(heap_or_empty(), block, size);
}

/* A block of another heap, a middle or a large one, or no block. */
static LM_NOINLINE void *realloc_other(void *block, size_t size, void *caller) {
  if (LM_UNLIKELY(lm_guarded_holds(block))) return realloc_guarded(block, size, caller);
  size_t old_bytes = lm_raw_usable_bytes(block), room = size;
  if (LM_UNLIKELY(old_bytes == 0)) return lm_foreign_realloc(block, size, caller);
  if (size > LM_REQUEST_MAX_BYTES) return NULL;
  if (old_bytes <= lm_classed_max_bytes) {
    if (fits(old_bytes, size)) return block;
    room = room_for(old_bytes, size);
  } else if (size > lm_classed_max_bytes) {
    void *resized = resize_large(block, size);
    if (resized != NULL) return fills() ? fill_taken(resized, old_bytes) : resized;
  }
  return move(block, old_bytes, size, room);
}

void *lm_raw_realloc(void *block, size_t size, void *caller) {
  uint32_t difference = lm_tags_read(block) ^ LM_THREAD(lm_this_heap)->tag;
  if (LM_UNLIKELY(difference >= LM_TAG_SMALL_LIMIT)) return realloc_other(block, size, caller);
  size_t class_index = difference & LM_TAG_CLASS_MASK;
  if (LM_UNLIKELY(LM_THREAD(lm_this_heap)->bins[class_index] == block))
    return realloc_freed(block, caller);
  size_t old_bytes = lm_classes[class_index].block_bytes;
  if (fits(old_bytes, size)) return block;
  return move(block, old_bytes, size, room_for(old_bytes, size));
}
