#include "api/allocate.h"

#include <errno.h>
#include <string.h>

#include "api/aside.h"
#include "api/background.h"
#include "api/foreign.h"
#include "api/guarded.h"
#include "api/profile.h"
#include "config/options.h"
#include "central/put.h"
#include "central/shared.h"
#include "central/span_life.h"
#include "central/take.h"
#include "large/large.h"
#include "large/owned.h"
#include "os/misuse.h"
#include "os/os.h"
#include "thread/lists.h"
#include "thread/tick.h"

/* ---- The option fill: malloc finds all lists empty (lm_fill_watch), and lists take no frees, so
 * that each call takes the slow path, which fills. Without it nothing is looked at on any other
 * path. ---- */

#define FILL_TAKEN 0xa5
#define FILL_FREED 0x5a

static bool fills(void) { return LM_UNLIKELY(LM_OPTION(fill) != LM_FILL_OFF); }
static bool fills_freed(void) { return LM_UNLIKELY(LM_OPTION(fill) == LM_FILL_JUNK); }

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
  if (lm_tag_is_shared(tag)) return;
  if (!lm_tag_is_small(tag)) bytes = lm_large_usable_bytes(address);
  else if (lm_span_has_block_at(lm_span_of(address), address)) bytes = lm_classes[tag].block_bytes;
  if (bytes != 0) memset(address, FILL_FREED, bytes);
}

/* ---- malloc ---- */

/* For a thread that has ended its cache: one block of a central. */
static LM_COLD void *take_after_end(size_t size, bool clear) {
  struct lm_central *central = lm_central_at(0);
  struct lm_block *rest;
  size_t count;
  bool zero;
  if (central == NULL) return NULL;
  void *block;
  if (size > lm_classed_max_bytes) {
    block = lm_large_take(central->pool, size, lm_os.page_bytes, clear);
  } else {
    size_t class_index = lm_sizeclass_of(size == 0 ? 1 : size);
    block = lm_central_take(central, class_index, 1, &rest, &count, &zero);
    if (block != NULL && rest != LM_NO_BLOCK) lm_central_put_list(rest, false);
    if (block != NULL && clear) memset(block, 0, size);
  }
  return fills() && !clear ? fill_taken(block, 0) : block;
}

/* So has every thread of a program that is listed. */
static LM_COLD void *take_without_cache(size_t size, bool clear) {
  return lm_is_listed() ? lm_aside_take_behind(size, clear) : take_after_end(size, clear);
}

/* One of the next small blocks is guarded: until then each call takes the slow path. */
static LM_COLD void *take_sampled(struct lm_cache *cache, size_t size, bool clear) {
  void *block = NULL;
  if (cache->guard.skips != 0) {
    cache->guard.skips--;
  } else if (size <= lm_classed_max_bytes) {
    cache->guard.soon = false;
    block = lm_sampled_take(size, clear);
  }
  if (cache->guard.soon) lm_guard_soon(cache);
  return block != NULL ? block : lm_take(cache, size, clear);
}

static void *take_elsewhere_unfilled(struct lm_cache *cache, size_t size, bool clear) {
  if (lm_cache_is_empty(LM_THREAD(lm_malloc_cache))) {
    LM_THREAD(lm_malloc_cache) = cache;
    if (LM_UNLIKELY(lm_background_is_due())) lm_background_start();
    lm_tick_look(cache);
  }
  if (lm_profile_is_on()) return lm_profile_take(cache, size, clear);
  /* The profile may have ended while malloc looked into the empty cache, not into the window. */
  if (LM_UNLIKELY(cache->profile.window != NULL)) lm_profile_leave(cache);
  return LM_UNLIKELY(cache->guard.soon) ? take_sampled(cache, size, clear)
                                         : lm_take(cache, size, clear);
}

static LM_COLD void *take_filled(struct lm_cache *cache, size_t size, bool clear) {
  bool zero = clear || !fills_freed();
  void *block = take_elsewhere_unfilled(cache, size, zero);
  LM_THREAD(lm_malloc_cache) = &lm_empty_cache;
  return clear ? block : fill_taken(block, fills_freed() ? 0 : size);
}

/* While the thread looks at the clock, a profile is taken, or one was, or blocks are filled. */
static LM_NOINLINE void *take_elsewhere(struct lm_cache *cache, size_t size, bool clear) {
  return fills() ? take_filled(cache, size, clear) : take_elsewhere_unfilled(cache, size, clear);
}

static void *take_any(size_t size, bool clear) {
  if (LM_UNLIKELY(size > LM_REQUEST_MAX_BYTES)) return NULL;
  struct lm_cache *cache = lm_cache_of_thread();
  if (LM_UNLIKELY(cache == NULL)) return take_without_cache(size, clear);
  if (LM_UNLIKELY(LM_THREAD(lm_malloc_cache) != cache)) return take_elsewhere(cache, size, clear);
  return lm_take(cache, size, clear);
}

/* One of the first blocks of the process, or NULL. While a profile is taken there is none: then
 * this is where threads begin to take part. */
static LM_NOINLINE void *take_guarded(size_t size, bool clear) {
  struct lm_cache *cache = lm_cache_of_thread();
  lm_profile_obey();
  if (lm_profile_is_on())
    return cache != NULL && size <= LM_REQUEST_MAX_BYTES ? take_elsewhere(cache, size, clear)
                                                         : NULL;
  bool has_guards = !LM_CHECKING && !fills(); /* whatever a profile that has just ended has left */
  if (cache == NULL || lm_load_relaxed(&lm_pools[0].provider) != NULL || !has_guards) return NULL;
  void *block = lm_guarded_take(size);
  size_t run_bytes = lm_guarded_run_bytes(size);
  if (block != NULL || run_bytes == 0) return block;
  void *run = take_any(run_bytes, clear);
  return run != NULL ? lm_guarded_make_run(run, size) : NULL;
}

/* For calls that say no more than a size. */
LM_INLINE void *take_first_or_any(size_t size, bool clear) {
  if (LM_SIZELESS && LM_UNLIKELY(size == 0)) {
    lm_process_start();
    void *block = lm_sizeless_take();
    if (block != NULL) return block;
  }
  if (LM_UNLIKELY(lm_guarded_is_on())) {
    void *block = take_guarded(size, clear);
    if (block != NULL) return block;
  }
  return take_any(size, clear);
}

/* Mostly the last of loam's own functions on a stack, since what calls it jumps: by its name
 * `loam prof` knows where these end. */
static LM_NOINLINE void *lm_malloc_any(size_t size) {
  void *block = take_first_or_any(size, false);
  if (LM_UNLIKELY(block == NULL)) errno = ENOMEM;
  return block;
}

LM_NOINLINE void *lm_malloc_slow(size_t size) {
  struct lm_cache *cache = LM_THREAD(lm_malloc_cache);
  if (LM_LIKELY(size - 1 < lm_classed_max_bytes)) {
    size_t class_index = lm_sizeclass_of(size);
    void *block = lm_cache_pop(cache, class_index);
    if (LM_LIKELY(block != NULL)) return block;
    if (LM_UNLIKELY(!lm_cache_is_threads(cache) && !lm_cache_is_empty(cache))) {
      block = lm_profile_refill(cache, class_index);
      if (block != NULL) return block;
    }
  } else if (LM_LIKELY(size - 1 < LM_MIDDLE_MAX_BYTES)) {
    size_t class_index = lm_middle_class(size);
    void *block = lm_cache_pop(cache, class_index);
    if (LM_LIKELY(block != NULL)) return lm_middle_begin(block, class_index);
  }
  return lm_malloc_any(size);
}

void *lm_raw_calloc(size_t size) {
  struct lm_cache *cache = LM_THREAD(lm_malloc_cache);
  if (LM_LIKELY(size <= LM_SMALL_MAX_BYTES)) {
    void *block = lm_cache_pop(cache, (size + LM_GRANULE_BYTES - 1) / LM_GRANULE_BYTES);
    if (LM_LIKELY(block != NULL)) return memset(block, 0, size);
  }
  return take_first_or_any(size, true);
}

static LM_NOINLINE void *take_by_alignment(size_t size) {
  struct lm_cache *cache = lm_cache_of_thread();
  if (LM_UNLIKELY(cache == NULL)) return take_after_end(size, false);
  return lm_profile_is_on() ? take_elsewhere(cache, size, false) : take_any(size, false);
}

/* For blocks of no list, which can do without a cache. */
static struct lm_pool *this_pool(const struct lm_cache *cache) {
  return cache != NULL ? cache->central->pool : &lm_pools[0];
}

void *lm_raw_memalign(size_t alignment, size_t size) {
  if (alignment <= LM_GRANULE_BYTES) return lm_raw_malloc(size);
  if (size > LM_REQUEST_MAX_BYTES || alignment > PTRDIFF_MAX / 2) return NULL;
  /* Blocks up to this are as long as they have to be, and spans begin at multiples of more. */
  size_t rounded = lm_align_up(size == 0 ? 1 : size, alignment);
  if (LM_LIKELY(rounded <= LM_SMALL_MAX_BYTES)) {
    void *block = lm_cache_pop(LM_THREAD(lm_malloc_cache), rounded / LM_GRANULE_BYTES);
    return LM_LIKELY(block != NULL) ? block : take_by_alignment(rounded);
  }
  size_t class_index = lm_sizeclass_of_aligned(alignment, size);
  if (class_index != 0) return take_by_alignment(lm_classes[class_index].block_bytes);
  struct lm_cache *cache = lm_cache_of_thread();
  alignment = lm_max(alignment, lm_os.page_bytes);
  if (lm_is_middle(size) && alignment == lm_os.page_bytes) return take_by_alignment(size);
  if (fills()) return fill_taken(lm_large_take(this_pool(cache), size, alignment, false), 0);
  if (LM_UNLIKELY(lm_profile_is_on()) && cache != NULL)
    return lm_profile_take_large(cache, size, alignment, false);
  return lm_large_take(this_pool(cache), size, alignment, false);
}

/* ---- free ---- */

uint32_t lm_tag_of(const void *address) {
  if (LM_LIKELY(lm_tags.multiplier != 0)) return lm_tags_read(address);
  if ((uintptr_t)address % LM_GRANULE_BYTES != 0 || !lm_region_holds((uintptr_t)address)) return 0;
  return lm_load_relaxed(&lm_span_record_of(address)->tag);
}

/* Not a block of spans' and pools': a guarded one, or says what is wrong as well as can be told. */
static LM_COLD void free_invalid(void *address, void *caller) {
  if (lm_guarded_holds(address)) {
    lm_raw_free(lm_guarded_end(address, caller));
    return;
  }
  if (lm_region_holds((uintptr_t)address) && lm_large_is_free(address))
    lm_misuse_double_free(address, caller);
  lm_foreign_free(address, caller);
}

/* A block of a first-class heap, a middle or a large one, or no block. */
static LM_NOINLINE void free_other(void *address, size_t tag, void *caller) {
  if (address == NULL) return;
  if (lm_tag_is_shared(tag)) {
    lm_profile_freed_shared(address);
    lm_shared_free(address, caller);
    return;
  }
  lm_profile_freed_large(address);
  struct lm_cache *cache = LM_THREAD(lm_this_cache);
  if (!lm_large_give(cache, address)) free_invalid(address, caller);
}

/* Whether a middle block that is freed may be anything but one of nobody's. */
static bool looks_at_middle(const struct lm_cache *cache) {
  return (lm_load_relaxed(&lm_profile_large_count) | lm_load_relaxed(&lm_owned_count)) != 0 ||
         fills_freed() || lm_cache_is_empty(cache);
}

LM_NOINLINE void lm_free_slow(void *address, size_t tag, void *caller) {
  struct lm_cache *cache = LM_THREAD(lm_this_cache);
  struct lm_block *block = address;
  lm_tally_undo_free(cache, &cache->tallies[tag]);
  if (tag - 1 < LM_CLASS_COUNT - 1 && !fills_freed() && lm_cache_free_in_bulk(cache, block)) return;
  if (tag == LM_TAG_LARGE && LM_LIKELY(!looks_at_middle(cache)) && lm_middle_give(cache, address))
    return;
  if (LM_UNLIKELY(tag == 0)) tag = lm_tag_of(address); /* there may be no table */
  if (LM_UNLIKELY(fills_freed())) fill_freed(address);
  if (LM_UNLIKELY(!lm_tag_is_small(tag) || lm_tag_is_shared(tag))) {
    free_other(address, tag, caller);
    return;
  }
  lm_small_give_slow(block, tag, caller);
}

/* A compiler that sees that this never returns would have free call it, and not jump to it, and
 * keep the stack aligned for that on all paths. */
LM_COLD void lm_free_twice(void *block, size_t tag, void *caller) {
  bool twice = lm_tag_is_small(tag) && !lm_tag_is_shared(tag);
  __asm__("" : "+r"(twice));
  if (twice) lm_misuse_double_free(block, caller);
  lm_tally_free(&LM_THREAD(lm_this_cache)->tallies[tag]); /* as free does before that */
  lm_free_slow(block, tag, caller);
}

/* ---- Sizes ---- */

size_t lm_raw_usable_bytes(const void *address) {
  uint32_t tag = lm_tag_of(address);
  if (lm_tag_is_small(tag)) return lm_classes[tag & LM_TAG_CLASS_MASK].block_bytes;
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

/* Whether the block was made for more than that, which is a mistake but for an object that has room
 * behind it in its block: it is deleted with the size of its type. */
static bool is_too_small(size_t size, size_t bytes, bool aligned) {
  return !aligned && bytes - size > lm_size_slack(bytes) && lm_load_relaxed(&has_left_long) == 0;
}

void lm_compare_size(const void *address, size_t size, bool aligned, void *caller) {
  size_t bytes = lm_raw_usable_bytes(address), policy = LM_OPTION(mismatch);
  if (bytes == 0 || policy == LM_MISMATCH_IGNORE) return;
  if (size > bytes || (policy == LM_MISMATCH_STRICT && is_too_small(size, bytes, aligned)))
    lm_misuse_wrong_size(address, size, caller);
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

static LM_COLD void *realloc_foreign(void *block, size_t size, void *caller) {
  size_t old_bytes;
  void *resized;
  if (lm_foreign_resize(block, size, &resized)) return resized;
  if (!lm_foreign_can_move(block, &old_bytes, caller)) return NULL;
  return lm_foreign_move(block, old_bytes, lm_raw_malloc(size), size, caller);
}

/* While there are samples, a block that is resized is a new one to the profile. */
static LM_NOINLINE void *resize_in_profile(void *block, size_t size) {
  struct lm_cache *cache = lm_cache_of_thread();
  lm_profile_freed_large(block);
  void *resized = lm_large_resize(this_pool(cache), block, size, false);
  return resized != NULL && cache != NULL && lm_profile_is_on()
             ? lm_profile_resized(cache, resized, size)
             : resized;
}

static void *resize_large(void *block, size_t size) {
  if (LM_UNLIKELY(lm_profile_is_on()) ||
      LM_UNLIKELY(lm_load_relaxed(&lm_profile_large_count) != 0))
    return resize_in_profile(block, size);
  struct lm_cache *cache = lm_cache_of_thread();
  if (LM_LIKELY(cache != NULL)) lm_tick_event(cache);
  return lm_large_resize(this_pool(cache), block, size, false);
}

/* A block of a first-class heap, a middle or a large one, or no block. */
static LM_NOINLINE void *realloc_other(void *block, size_t size, void *caller) {
  if (LM_UNLIKELY(lm_guarded_holds(block))) return realloc_guarded(block, size, caller);
  size_t old_bytes = lm_raw_usable_bytes(block), room = size;
  if (LM_UNLIKELY(old_bytes == 0)) return realloc_foreign(block, size, caller);
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
  uint32_t tag = lm_tags_read(block);
  if (LM_UNLIKELY(!lm_tag_is_small(tag) || lm_tag_is_shared(tag)))
    return realloc_other(block, size, caller);
  if (LM_UNLIKELY(LM_THREAD(lm_this_cache)->lists[tag] == block))
    return realloc_freed(block, caller);
  size_t old_bytes = lm_classes[tag].block_bytes;
  if (fits(old_bytes, size)) return block;
  return move(block, old_bytes, size, room_for(old_bytes, size));
}
