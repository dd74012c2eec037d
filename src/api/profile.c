#include "api/profile.h"

#include <errno.h>
#include <string.h>

#include "api/callbacks.h"
#include "api/guarded.h"
#include "api/this_cache.h"
#include "config/options.h"
#include "central/put.h"
#include "central/shared.h"
#include "central/take.h"
#include "large/large.h"
#include "loam/loam.h"
#include "os/os.h"
#include "os/reason.h"
#include "profile/chance.h"
#include "profile/file.h"
#include "profile/python.h"

_Atomic(uint32_t) lm_profile_bytes;
_Atomic(struct loam_heap *) lm_profile_heap;

#if defined(__linux__)

/* So much of a class, whose list has to be walked along, is in a window at most: more would spoil
 * the caches of the processor, which the block that was freed last is in. */
#define BATCH_BYTES (8 * LM_KIB)
#define BATCH_COUNT 64

/* A window of fewer blocks gets one more, so that the next one is longer. */
#define WINDOW_FEW 4

_Atomic(uint32_t) lm_profile_last_bytes;
/* How often a profile has begun or ended. Stored with a release, which pairs with the acquire of a
 * thread that begins to take part. */
static _Atomic(uint32_t) round_number;

/* Of one cache, and used by its thread. Only the lists of `cache` ever have anything. */
struct lm_profile_window {
  struct lm_cache cache; /* first: what malloc looks into */
  struct lm_cache *owner;
  uint64_t random;
  bool entered;         /* by the thread's malloc, and not left since */
  uint32_t round;       /* the profile that what follows is for */
  double bytes;         /* of which the mean distance of samples is */
  double distance;      /* to the next sample of blocks without a class, in bytes */
  uint32_t left[LM_CLASS_COUNT]; /* calls to the next sample, with it; 0: not known yet */
  uint32_t batch_counts[LM_CLASS_COUNT]; /* how many blocks the window takes at a time */
  struct lm_walked_stacks walked;
  bool is_walking; /* or the program is told: a call of malloc within is no sample */
  uintptr_t lines[LM_PYTHON_DEPTH]; /* of Python, found last, as a site has them */
  size_t line_count;
  struct lm_profile_site *site; /* of the stack that was walked last */
};

/* ---- The window ---- */

static struct lm_profile_window *make_window(struct lm_cache *cache) {
  struct lm_profile_window *window = lm_profile_take_record(sizeof *window);
  if (window == NULL) return NULL;
  lm_cache_empty_lists(&window->cache);
  window->owner = cache;
  for (size_t i = 1; i < LM_CLASS_COUNT; i++) {
    size_t count = BATCH_BYTES / lm_classes[i].block_bytes + 1;
    window->batch_counts[i] = (uint32_t)lm_min(count, BATCH_COUNT);
  }
  window->random = (lm_os_random() ^ (uintptr_t)cache) | 1;
  cache->profile.window = window;
  return window;
}

static void begin_round(struct lm_profile_window *window, uint32_t round) {
  window->round = round;
  window->bytes = lm_load_relaxed(&lm_profile_last_bytes);
  window->distance = lm_chance_distance(&window->random) * window->bytes;
  memset(window->left, 0, sizeof window->left);
}

/* The cache's window, where its thread's malloc looks from here on; NULL if out of memory. */
static struct lm_profile_window *enter_window(struct lm_cache *cache) {
  struct lm_profile_window *window = cache->profile.window;
  uint32_t round = lm_load_acquire(&round_number);
  if (LM_UNLIKELY(window == NULL)) window = make_window(cache);
  if (LM_UNLIKELY(window == NULL)) return NULL;
  LM_THREAD(lm_malloc_cache) = &window->cache;
  window->entered = true;
  if (LM_UNLIKELY(window->round != round)) begin_round(window, round);
  return window;
}

void lm_profile_leave(struct lm_cache *cache) {
  struct lm_profile_window *window = cache->profile.window;
  if (window == NULL || !window->entered) return;
  LM_THREAD(lm_malloc_cache) = cache;
  window->entered = false;
  for (size_t i = 1; i < LM_CLASS_COUNT; i++)
    for (void *block; (block = lm_cache_pop(&window->cache, i)) != NULL;)
      lm_small_give(block, i, LM_CALLER());
}

/* ---- Samples ---- */

/* Made by the first thread that needs it. NULL if out of memory. */
static struct loam_heap *profile_heap(void) {
  struct loam_heap *heap = lm_load_acquire(&lm_profile_heap), *none = NULL;
  if (LM_LIKELY(heap != NULL)) return heap;
  heap = lm_shared_begin(NULL);
  if (heap == NULL || lm_cas_release(&lm_profile_heap, &none, heap)) return heap;
  heap->live = false; /* another thread's is the one; nobody knows this */
  lm_shared_end(heap);
  return lm_load_acquire(&lm_profile_heap);
}

/* A small block in the profile's heap; NULL if there is none to be had there. */
static void *take_in_profile(size_t size) {
  struct loam_heap *profile = profile_heap();
  bool zero;
  if (profile == NULL) return NULL;
  lm_lock_take(&profile->central.lock);
  void *block = lm_central_take_one(&profile->central, lm_sizeclass_of(size), &zero);
  lm_lock_free(&profile->central.lock);
  return block;
}

_Static_assert(LM_SITE_DEPTH >= LM_UNWIND_DEPTH + LM_PYTHON_DEPTH, "a site has room for both");

/* Whether the thread is at the same lines of Python as last time; they come behind the callers. */
static bool walk_python(struct lm_profile_window *window, uintptr_t *callers, size_t depth) {
  uintptr_t *lines = callers + depth;
  bool whole = lm_os_walked_all(&window->walked);
  size_t last_count = window->line_count, count = lm_python_walk(callers, depth, whole, lines);
  if (count == last_count && memcmp(window->lines, lines, count * sizeof *lines) == 0) return true;
  memcpy(window->lines, lines, count * sizeof *lines);
  window->line_count = count;
  return false;
}

/* Where the thread is. NULL if that is lost. */
static struct lm_profile_site *this_site(struct lm_profile_window *window) {
  uintptr_t callers[LM_SITE_DEPTH];
  if (LM_UNLIKELY(window->is_walking)) return NULL;
  window->is_walking = true;
  bool again = lm_os_unwind_again(&window->walked) && window->site != NULL;
  if (!again || lm_python_is_here()) {
    size_t depth = lm_os_walked(&window->walked, callers);
    again &= walk_python(window, callers, depth);
    if (!again) window->site = lm_profile_find_site(callers, depth + window->line_count);
  }
  window->is_walking = false;
  return window->site;
}

static LM_NOINLINE struct lm_profile_sample *begin_sample(struct lm_profile_window *window,
                                                          size_t bytes) {
  struct lm_profile_sample *sample = lm_profile_new_sample(this_site(window));
  if (sample == NULL) return NULL;
  double weight = lm_chance_weight((double)bytes / window->bytes);
  sample->bytes = bytes;
  sample->count = (uint64_t)(weight * LM_PROFILE_COUNT_UNIT + 0.5);
  double weighted_bytes = weight * (double)bytes, more = weighted_bytes - (double)bytes;
  sample->weighted_bytes = (uint64_t)(weighted_bytes + 0.5);
  sample->variance = more > 0 ? weighted_bytes * more : 0;
  sample->taken_ms = lm_os_clock_ms();
  sample->shadow = NULL;
  sample->large = false;
  return sample;
}

/* The sample is put in, and told to the program. */
static void insert_sample(struct lm_profile_window *window, struct lm_profile_sample *sample,
                   void *block) {
  sample->block = block;
  bool was_walking = window->is_walking;
  window->is_walking = true;
  lm_callbacks_taken(sample);
  window->is_walking = was_walking;
  lm_profile_insert(sample);
}

/* What an ordinary block would have been keeps its place, so that one sees on which page that
 * is: the sample itself stands somewhere else. */
static void *sample_small(struct lm_profile_window *window, size_t size, size_t bytes,
                          bool clear) {
  struct lm_profile_sample *sample = begin_sample(window, bytes);
  void *shadow = lm_take(window->owner, bytes, clear);
  void *block = sample != NULL && shadow != NULL ? take_in_profile(bytes) : NULL;
  if (block == NULL) {
    if (sample != NULL) lm_profile_drop_sample(sample);
    return shadow;
  }
  sample->shadow = shadow;
  insert_sample(window, sample, block);
  return clear ? memset(block, 0, size) : block;
}

/* The block, which has no class or a middle one, is a sample from here on. */
static void insert_large(struct lm_profile_window *window, void *block, size_t size) {
  if (block == NULL) return;
  struct lm_profile_sample *sample =
      begin_sample(window, lm_align_up(lm_max(size, 1), lm_os.page_bytes));
  if (sample == NULL) return;
  sample->large = true;
  insert_sample(window, sample, block);
}

/* ---- Taking ---- */

/* One block more than the cache's list had, so that the window is filled with more the next time:
 * what is freed meanwhile goes to the cache. */
static LM_NOINLINE void *add_one(struct lm_profile_window *window, size_t class_index,
                                 void *block) {
  struct lm_block *more = lm_take(window->owner, lm_classes[class_index].block_bytes, false);
  if (more == NULL) return block;
  window->left[class_index]--;
  lm_cache_push(&window->cache, class_index, more);
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

/* A block, and others in the window's list, out of the cache's, whatever has come into that. */
void *lm_profile_refill(struct lm_cache *lists, size_t class_index) {
  struct lm_profile_window *window = (struct lm_profile_window *)lists;
  struct lm_cache *cache = window->owner;
  struct lm_block *first = cache->lists[class_index];
  uint32_t left = window->left[class_index], count;
  if (left <= 1 || !lm_is_block(first)) return NULL;
  if (window->round != lm_load_relaxed(&round_number)) return NULL;
  uint32_t most = (uint32_t)lm_min(left - 1, window->batch_counts[class_index]);
  struct lm_block *last = last_of(first, most, &count);
  cache->lists[class_index] = lm_block_next(last);
  cache->tallies[class_index] += (lm_tally)count * LM_TALLY_OF_MALLOC;
  lm_block_link(last, LM_NO_BLOCK);
  window->cache.lists[class_index] = lm_block_next(first);
  window->cache.tallies[class_index] = 0; /* means nothing there, but malloc counts in it */
  window->left[class_index] = left - count;
  bool few = count < most && count < WINDOW_FEW;
  return LM_UNLIKELY(few) ? add_one(window, class_index, first) : first;
}

/* A block with a class that is no sample. */
static void *take_unsampled(struct lm_profile_window *window, size_t size, size_t class_index,
                            bool clear) {
  void *block = lm_take(window->owner, size, clear);
  if (block == NULL || --window->left[class_index] <= 1) return block;
  return add_one(window, class_index, block);
}

void *lm_profile_take(struct lm_cache *cache, size_t size, bool clear) {
  if (size > lm_classed_max_bytes)
    return lm_profile_take_large(cache, size, lm_os.page_bytes, clear);
  struct lm_profile_window *window = enter_window(cache);
  if (LM_UNLIKELY(window == NULL)) return lm_take(cache, size, clear);
  size_t class_index = lm_sizeclass_of(size == 0 ? 1 : size);
  size_t bytes = lm_classes[class_index].block_bytes;
  void *block = lm_cache_pop(&window->cache, class_index);
  /* Mostly malloc has just found the list empty. */
  if (block == NULL && lm_is_block(cache->lists[class_index]))
    block = lm_profile_refill(&window->cache, class_index);
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

void *lm_profile_take_large(struct lm_cache *cache, size_t size, size_t alignment, bool clear) {
  struct lm_profile_window *window = enter_window(cache);
  bool sampled = window != NULL && has_point(window, size);
  void *block = alignment <= lm_os.page_bytes
                    ? lm_take(cache, size, clear)
                    : lm_large_take(cache->central->pool, size, alignment, clear);
  if (LM_UNLIKELY(sampled)) insert_large(window, block, size);
  return block;
}

void *lm_profile_resized(struct lm_cache *cache, void *block, size_t size) {
  struct lm_profile_window *window = enter_window(cache);
  if (window != NULL && has_point(window, size)) insert_large(window, block, size);
  return block;
}

/* ---- Freeing ---- */

void lm_profile_freed_slow(void *block) {
  struct lm_profile_sample sample;
  if (!lm_profile_remove(block, &sample)) return;
  if (sample.is_told) lm_callbacks_freed(sample.word);
  void *shadow = sample.shadow;
  if (shadow != NULL) lm_small_give(shadow, lm_span_of(shadow)->class_index, LM_CALLER());
}

void lm_profile_freed_shared(void *block) {
  if (lm_shared_of(block) == lm_load_relaxed(&lm_profile_heap)) lm_profile_freed_slow(block);
}

/* ---- The file ---- */

static int write_to(const char *path) {
  int fd = lm_os_open_to_write(path);
  if (fd < 0) return -fd;
  int error = lm_profile_print(fd, lm_load_relaxed(&lm_profile_last_bytes));
  lm_os_close(fd);
  return error;
}

static void name_by_options(struct lm_text *path) {
  const char *pattern = lm_options.profile_file;
  lm_text_path(path, pattern[0] != 0 ? pattern : "loam.%p.profile", lm_os_process_id());
}

void lm_profile_write_by_options(void) {
  if (lm_load_relaxed(&lm_profile_last_bytes) == 0) return;
  LM_TEXT(path, 2 * LM_PATH_BYTES);
  name_by_options(&path);
  int error = write_to(path.bytes);
  if (error != 0) lm_complain_unwritten(path.bytes, error);
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
  lm_profile_process_start_ms = lm_os_clock_ms();
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
  if (path != NULL) return write_to(path);
  LM_TEXT(usual, 2 * LM_PATH_BYTES);
  name_by_options(&usual);
  return write_to(usual.bytes);
}

#else

struct lm_lock lm_profile_lock = LM_LOCK_INIT(LM_RANK_PROFILE);
_Atomic(size_t) lm_profile_large_count;

void *lm_profile_refill(struct lm_cache *lists, size_t class_index) {
  (void)lists, (void)class_index;
  return NULL;
}
void *lm_profile_take(struct lm_cache *cache, size_t size, bool clear) {
  return lm_take(cache, size, clear);
}
void *lm_profile_take_large(struct lm_cache *cache, size_t size, size_t alignment, bool clear) {
  return lm_large_take(cache->central->pool, size, alignment, clear);
}
void lm_profile_leave(struct lm_cache *cache) { (void)cache; }
void lm_profile_freed_slow(void *block) { (void)block; }
void lm_profile_freed_shared(void *block) { (void)block; }
void *lm_profile_resized(struct lm_cache *cache, void *block, size_t size) {
  (void)cache, (void)size;
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
