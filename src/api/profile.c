#include "api/profile.h"

#include <errno.h>
#include <string.h>

#include "api/allocate.h"
#include "api/guarded.h"
#include "config/options.h"
#include "heap/bins.h"
#include "heap/middle.h"
#include "heap/shared.h"
#include "large/large.h"
#include "loam/loam.h"
#include "os/os.h"
#include "pages/meta.h"
#include "profile/chance.h"
#include "profile/file.h"

_Atomic(uint32_t) lm_profile_bytes;
_Atomic(struct loam_heap *) lm_profile_heap;

#if defined(__linux__)

/* So much of a class whose bin has to be walked along is in a window at most: more would spoil the
 * caches, which the block that was freed last is in. */
#define BATCH_BYTES (8 * LM_KIB)
#define BATCH_COUNT 64

/* A window of fewer blocks gets one more, so that the next one is longer. */
#define FEW_BLOCKS 4

_Atomic(uint32_t) lm_profile_last_bytes;
/* How often a profile has begun or ended. Stored with a release, which pairs with the acquire of a
 * thread that begins to take part. */
static _Atomic(uint32_t) round_number;

/* Of one heap, and used by its thread. Only the bins of `heap` ever have anything. */
struct lm_profile_window {
  struct lm_heap heap; /* first: what malloc looks into */
  struct lm_heap *owner;
  uint64_t random;
  bool entered;         /* by the thread's malloc, and not left since */
  uint32_t round;       /* the profile that what follows is for */
  double bytes;         /* of which the mean distance of samples is */
  double distance;      /* to the next sample of blocks without a class, in bytes */
  uint32_t left[LM_CLASS_COUNT]; /* calls to the next sample, with it; 0: not known yet */
  uint32_t batch_counts[LM_CLASS_COUNT]; /* how many blocks the window takes at a time */
  uint16_t bin_sums[LM_CLASS_COUNT]; /* the heap's; not known where malloc has taken from its bin */
  struct lm_walked_stacks walked;
  struct lm_profile_site *site; /* of the stack that was walked last */
};

/* ---- The window ---- */

static struct lm_profile_window *make_window(struct lm_heap *heap) {
  struct lm_profile_window *window = lm_meta_take(sizeof *window);
  if (window == NULL) return NULL;
  lm_heap_empty_bins(&window->heap);
  window->heap.tag = LM_TAG_NO_HEAP;
  window->owner = heap;
  for (size_t i = 1; i < LM_CLASS_COUNT; i++) {
    size_t count = BATCH_BYTES / lm_classes[i].block_bytes + 1;
    window->batch_counts[i] = (uint32_t)lm_min(count, BATCH_COUNT);
  }
  window->random = (lm_os_random() ^ heap->tag) | 1;
  heap->profile.window = window;
  heap->profile.bin_sums = window->bin_sums;
  return window;
}

static void begin_round(struct lm_profile_window *window, uint32_t round) {
  window->round = round;
  window->bytes = lm_load_relaxed(&lm_profile_last_bytes);
  window->distance = lm_chance_distance(&window->random) * window->bytes;
  memset(window->left, 0, sizeof window->left);
}

/* The heap's window, where its thread's malloc looks from here on; NULL if out of memory. */
static struct lm_profile_window *enter_window(struct lm_heap *heap) {
  struct lm_profile_window *window = heap->profile.window;
  uint32_t round = lm_load_acquire(&round_number);
  if (LM_UNLIKELY(window == NULL)) window = make_window(heap);
  if (LM_UNLIKELY(window == NULL)) return NULL;
  LM_THREAD(lm_malloc_heap) = &window->heap;
  window->entered = true;
  if (LM_UNLIKELY(window->round != round)) begin_round(window, round);
  return window;
}

void lm_profile_leave(struct lm_heap *heap) {
  struct lm_profile_window *window = heap->profile.window;
  if (window == NULL || !window->entered) return;
  LM_THREAD(lm_malloc_heap) = heap;
  window->entered = false;
  for (size_t i = 1; i < LM_CLASS_COUNT; i++)
    for (void *block; (block = lm_heap_pop(&window->heap, i)) != NULL;) lm_raw_free(block);
  memset(window->bin_sums, 0, sizeof window->bin_sums); /* malloc takes from the heap's bins */
}

/* ---- Samples ---- */

/* Made by the first thread that needs it. NULL if out of memory. */
static struct loam_heap *profile_heap(void) {
  struct loam_heap *heap = lm_load_acquire(&lm_profile_heap), *none = NULL;
  if (LM_LIKELY(heap != NULL)) return heap;
  heap = lm_shared_begin(NULL);
  if (heap == NULL || lm_cas_release(&lm_profile_heap, &none, heap)) return heap;
  lm_shared_end(heap);
  return lm_load_acquire(&lm_profile_heap);
}

/* A block in the profile's heap; NULL if there is none to be had there. */
static void *take_in_profile(size_t size, bool clear) {
  struct loam_heap *profile = profile_heap();
  if (profile == NULL) return NULL;
  lm_lock_take(&profile->lock);
  void *block = lm_take(&profile->heap, size, clear);
  lm_lock_free(&profile->lock);
  if (block == NULL || lm_tag_is_shared(lm_tag_of(block))) return block;
  lm_large_give(&lm_empty_heap, block); /* the pool's, since no chunk has room */
  return NULL;
}

/* Where the thread is. NULL if that is lost. */
static struct lm_profile_site *this_site(struct lm_profile_window *window) {
  uintptr_t callers[LM_UNWIND_DEPTH];
  if (lm_os_unwind_again(&window->walked) && window->site != NULL) return window->site;
  window->site = lm_profile_find_site(callers, lm_os_walked(&window->walked, callers));
  return window->site;
}

static LM_NOINLINE struct lm_profile_sample *begin_sample(struct lm_profile_window *window,
                                                          size_t bytes) {
  struct lm_profile_sample *sample = lm_profile_new_sample(this_site(window));
  if (sample == NULL) return NULL;
  double weight = lm_chance_weight((double)bytes / window->bytes);
  sample->bytes = bytes;
  sample->count = (uint64_t)(weight * LM_PROFILE_COUNT_UNIT + 0.5);
  sample->weighted_bytes = (uint64_t)(weight * (double)bytes + 0.5);
  sample->taken_ms = lm_os_clock_ms();
  sample->shadow = NULL;
  sample->large = false;
  return sample;
}

/* A block with a class, whose bin has one less then. */
static void *take_of_heap(struct lm_profile_window *window, size_t size, bool clear) {
  lm_heap_forget_sum(window->owner, lm_sizeclass_of(size == 0 ? 1 : size));
  return lm_take(window->owner, size, clear);
}

/* What an ordinary block would have been keeps its place, so that one sees on which page that
 * is: the sample itself stands somewhere else. */
static void *sample_small(struct lm_profile_window *window, size_t size, size_t bytes,
                          bool clear) {
  struct lm_profile_sample *sample = begin_sample(window, bytes);
  void *shadow = take_of_heap(window, bytes, clear);
  void *block = sample != NULL && shadow != NULL ? take_in_profile(bytes, false) : NULL;
  if (block == NULL) {
    if (sample != NULL) lm_profile_drop_sample(sample);
    return shadow;
  }
  sample->shadow = shadow;
  sample->block = block;
  lm_profile_insert(sample);
  return clear ? memset(block, 0, size) : block;
}

static void *sample_large(struct lm_profile_window *window, struct lm_heap *heap, size_t size,
                          size_t alignment, bool clear) {
  size_t bytes = lm_align_up(lm_max(size, 1), lm_os.page_bytes);
  struct lm_profile_sample *sample = begin_sample(window, bytes);
  bool middle = bytes <= LM_MIDDLE_MAX_BYTES && alignment <= lm_os.page_bytes;
  void *block = middle && sample != NULL ? take_in_profile(bytes, clear) : NULL;
  bool in_profile = block != NULL;
  if (!in_profile) block = lm_large_take(heap, size, alignment, clear);
  /* In a chunk of the thread's own it would not be found when it is freed. */
  bool found = block != NULL && (in_profile || (lm_tag_of(block) & ~LM_TAG_LARGE) == 0);
  if (sample == NULL) return block;
  if (!found) {
    lm_profile_drop_sample(sample);
    return block;
  }
  sample->large = !in_profile;
  sample->block = block;
  lm_profile_insert(sample);
  return block;
}

/* ---- Taking ---- */

/* One block more than the heap's bin had, so that the window is filled with more the next time:
 * what is freed meanwhile goes to the heap. */
static LM_NOINLINE void *add_one(struct lm_profile_window *window, size_t class_index,
                                 void *block) {
  struct lm_block *more = take_of_heap(window, lm_classes[class_index].block_bytes, false);
  if (more == NULL) return block;
  window->left[class_index]--;
  lm_heap_push(&window->heap, class_index, more);
  return block;
}

/* Blocks of a list up to its end, or `most` of them. Returns the last one. Two by two: it is what a
 * profile costs most. */
LM_INLINE struct lm_block *last_of(struct lm_block *first, uint32_t most, uint32_t *count) {
  struct lm_block *last = first, *next = lm_block_next(first);
  uint32_t found = 1;
  for (; found + 2 <= most && lm_is_block(next); found += 2) {
    last = lm_block_next(next);
    if (!lm_is_block(last)) {
      *count = found + 1;
      return next;
    }
    next = lm_block_next(last);
  }
  *count = found;
  if (found == most || !lm_is_block(next)) return last;
  *count = found + 1;
  return next;
}

/* The heap's bin is empty, and has as much room as if malloc had found it so. From here on what
 * comes into it is counted. */
static void note_empty_bin(struct lm_profile_window *window, size_t class_index) {
  struct lm_heap *heap = window->owner;
  uint16_t room = lm_classes[class_index].bin_frees;
  if (heap->frees_left[class_index] < 0) return;
  heap->frees_left[class_index] = (int16_t)room;
  heap->room_steps[class_index] = LM_ROOM_STEPS;
  window->bin_sums[class_index] = room + heap->guests_left[class_index];
}

/* How many blocks are in the heap's bin; 0 if that is not known. */
LM_INLINE uint32_t known_count(const struct lm_profile_window *window, size_t class_index) {
  int sum = window->bin_sums[class_index], left = window->owner->frees_left[class_index];
  if (sum == 0 || left < 0) return 0;
  return (uint32_t)(sum - left - window->owner->guests_left[class_index]);
}

/* Some blocks of the heap's bin, which begins with `first`. */
static LM_NOINLINE void *refill_by_walk(struct lm_profile_window *window, size_t class_index,
                                        struct lm_block *first) {
  struct lm_heap *heap = window->owner;
  uint32_t left = window->left[class_index], most = window->batch_counts[class_index], count;
  bool bounded = lm_bin_is_bounded(heap, class_index);
  if (bounded) most = lm_classes[class_index].bin_frees;
  most = (uint32_t)lm_min(left - 1, most);
  struct lm_block *last = last_of(first, most, &count);
  heap->bins[class_index] = lm_block_next(last);
  lm_heap_forget_sum(heap, class_index);
  if (heap->bins[class_index] == LM_NO_BLOCK) note_empty_bin(window, class_index);
  lm_block_link(last, LM_NO_BLOCK);
  window->heap.bins[class_index] = lm_block_next(first);
  window->left[class_index] = left - count;
  bool few = count < most && (count < FEW_BLOCKS || !bounded);
  return LM_UNLIKELY(few) ? add_one(window, class_index, first) : first;
}

void *lm_profile_refill(struct lm_heap *bins, size_t class_index) {
  struct lm_profile_window *window = (struct lm_profile_window *)bins;
  struct lm_heap *heap = window->owner;
  struct lm_block *first = heap->bins[class_index];
  uint32_t left = window->left[class_index], count = known_count(window, class_index);
  if (left <= 1 || !lm_is_block(first)) return NULL;
  if (window->round != lm_load_relaxed(&round_number)) return NULL;
  if (LM_UNLIKELY(count == 0 || count >= left)) return refill_by_walk(window, class_index, first);
  heap->bins[class_index] = LM_NO_BLOCK;
  window->heap.bins[class_index] = lm_block_next(first);
  window->left[class_index] = left - count;
  note_empty_bin(window, class_index);
  bool few = count < FEW_BLOCKS && left - count > 1;
  return LM_UNLIKELY(few) ? add_one(window, class_index, first) : first;
}

/* A block with a class that is no sample. */
static void *take_unsampled(struct lm_profile_window *window, size_t size, size_t class_index,
                            bool clear) {
  void *block = take_of_heap(window, size, clear);
  if (block == NULL || --window->left[class_index] <= 1) return block;
  return add_one(window, class_index, block);
}

void *lm_profile_take(struct lm_heap *heap, size_t size, bool clear) {
  if (size > lm_classed_max_bytes)
    return lm_profile_take_large(heap, size, lm_os.page_bytes, clear);
  struct lm_profile_window *window = enter_window(heap);
  if (LM_UNLIKELY(window == NULL)) return lm_take(heap, size, clear);
  size_t class_index = lm_sizeclass_of(size == 0 ? 1 : size);
  size_t bytes = lm_classes[class_index].block_bytes;
  void *block = lm_heap_pop(&window->heap, class_index);
  /* Mostly malloc has just found both bins empty. */
  if (block == NULL && lm_is_block(heap->bins[class_index]))
    block = lm_profile_refill(&window->heap, class_index);
  if (block != NULL) return clear ? memset(block, 0, size) : block; /* counted already */
  uint32_t *left = &window->left[class_index];
  if (*left == 0) *left = lm_chance_count(&window->random, (double)bytes / window->bytes);
  if (LM_LIKELY(*left > 1)) return take_unsampled(window, size, class_index, clear);
  *left = 0;
  return sample_small(window, size, bytes, clear);
}

/* Whether a point is in the next block without a class, of so many bytes. */
static bool has_point(struct lm_profile_window *window, size_t size) {
  double bytes = (double)lm_align_up(lm_max(size, 1), lm_os.page_bytes);
  if (bytes <= window->distance) {
    window->distance -= bytes;
    return false;
  }
  window->distance = lm_chance_distance(&window->random) * window->bytes;
  return true;
}

void *lm_profile_take_large(struct lm_heap *heap, size_t size, size_t alignment, bool clear) {
  struct lm_profile_window *window = lm_heap_is_empty(heap) ? NULL : enter_window(heap);
  if (window == NULL || LM_LIKELY(!has_point(window, size)))
    return lm_large_take(heap, size, alignment, clear);
  return sample_large(window, heap, size, alignment, clear);
}

/* Free finds samples of middle blocks in the profile's heap only. */
static void *move_to_sample(struct lm_profile_window *window, void *block, size_t size) {
  void *sample = sample_large(window, window->owner, size, lm_os.page_bytes, false);
  if (sample == NULL) return block;
  memcpy(sample, block, size);
  lm_raw_free(block);
  return sample;
}

void *lm_profile_resized(struct lm_heap *heap, void *block, size_t size) {
  struct lm_profile_window *window = lm_heap_is_empty(heap) ? NULL : enter_window(heap);
  if (window == NULL || LM_LIKELY(!has_point(window, size))) return block;
  if ((lm_tag_of(block) & ~LM_TAG_LARGE) != 0) return move_to_sample(window, block, size);
  size_t bytes = lm_align_up(size, lm_os.page_bytes);
  struct lm_profile_sample *sample = begin_sample(window, bytes);
  if (sample == NULL) return block;
  sample->block = block;
  sample->large = true;
  lm_profile_insert(sample);
  return block;
}

/* ---- Freeing ---- */

void lm_profile_freed_slow(void *block) {
  void *shadow;
  if (lm_profile_remove(block, &shadow) && shadow != NULL) lm_raw_free(shadow);
}

void lm_profile_freed_shared(void *block) {
  if (lm_shared_of(block) == lm_load_relaxed(&lm_profile_heap)) lm_profile_freed_slow(block);
}

/* ---- The file ---- */

static int write_to(const char *path) {
  int fd = lm_os_open_to_write(path);
  if (fd < 0) return -fd;
  lm_profile_print(fd, lm_load_relaxed(&lm_profile_last_bytes));
  lm_os_close(fd);
  return 0;
}

static int write_by_options(void) {
  LM_TEXT(path, 2 * LM_PATH_BYTES);
  const char *pattern = lm_options.profile_file;
  lm_text_path(&path, pattern[0] != 0 ? pattern : "loam.%p.profile", lm_os_process_id());
  return write_to(path.bytes);
}

void lm_profile_write_by_options(void) {
  if (lm_load_relaxed(&lm_profile_last_bytes) != 0) write_by_options();
}

void lm_profile_end(void) {
  if (LM_OPTION(profile) == LM_PROFILE_ON) lm_profile_write_by_options();
}

/* ---- On and off ---- */

/* Windows are not filled any longer but for the new one. */
static void begin_another_round(void) {
  lm_store_release(&round_number, lm_load_relaxed(&round_number) + 1);
}

static int start_profile(uint64_t bytes) {
  if (bytes < LM_PROFILE_MIN_BYTES || bytes > LM_PROFILE_MAX_BYTES) return EINVAL;
  lm_profile_begin();
  lm_store_relaxed(&lm_profile_last_bytes, (uint32_t)bytes);
  lm_store_relaxed(&lm_profile_bytes, (uint32_t)bytes);
  begin_another_round();
  lm_store_relaxed(&lm_guarded_calls_left, LM_GUARDED_NONE);
  return 0;
}

void lm_profile_start_by_options(void) {
  if (LM_OPTION(profile) == LM_PROFILE_ON) start_profile(LM_OPTION(profile_bytes));
}

LM_EXPORT int loam_profile_start(size_t bytes) {
  lm_process_start();
  return start_profile(bytes != 0 ? bytes : LM_OPTION(profile_bytes));
}

LM_EXPORT void loam_profile_stop(void) {
  if (lm_exchange_acquire(&lm_profile_bytes, 0) == 0) return;
  begin_another_round();
  lm_store_relaxed(&lm_guarded_calls_left, 0);
}

void lm_profile_obey_slow(uint32_t order) {
  if (!lm_cas_acquire(&lm_guarded_calls_left, &order, 0)) return; /* another thread does */
  if (order == LM_PROFILE_ORDER) loam_profile_stop();
  else start_profile(order - LM_PROFILE_ORDER);
}

LM_EXPORT int loam_profile_write(const char *path) {
  lm_process_start();
  if (lm_load_relaxed(&lm_profile_last_bytes) == 0) return EINVAL;
  return path != NULL ? write_to(path) : write_by_options();
}

#else

struct lm_lock lm_profile_lock = LM_LOCK_INIT(LM_RANK_PROFILE);
_Atomic(size_t) lm_profile_large_count;

void *lm_profile_refill(struct lm_heap *bins, size_t class_index) {
  (void)bins, (void)class_index;
  return NULL;
}
void *lm_profile_take(struct lm_heap *heap, size_t size, bool clear) {
  return lm_take(heap, size, clear);
}
void *lm_profile_take_large(struct lm_heap *heap, size_t size, size_t alignment, bool clear) {
  return lm_large_take(heap, size, alignment, clear);
}
void lm_profile_leave(struct lm_heap *heap) { (void)heap; }
void lm_profile_freed_slow(void *block) { (void)block; }
void lm_profile_freed_shared(void *block) { (void)block; }
void *lm_profile_resized(struct lm_heap *heap, void *block, size_t size) {
  (void)heap, (void)size;
  return block;
}
void lm_profile_obey_slow(uint32_t order) { (void)order; }
void lm_profile_start_by_options(void) {}
void lm_profile_end(void) {}
void lm_profile_write_by_options(void) {}

LM_EXPORT int loam_profile_start(size_t bytes) {
  (void)bytes;
  return ENOSYS;
}
LM_EXPORT void loam_profile_stop(void) {}
LM_EXPORT int loam_profile_write(const char *path) {
  (void)path;
  return ENOSYS;
}

#endif
