/* A thread's cache: by class a list of free blocks. Blocks in it are anybody's: free does not ask
 * whose they are.
 *
 *     malloc   pops; if the list is empty it takes one of a depot, or blocks of spans (central/)
 *     free     pushes; if the list is full, the half of it that was freed first goes to the depot
 *
 * How lists move: thread/lists.h. (Rejected: arrays of pointers in place of lists. They cost a line
 * more for each call.) */
#ifndef LM_THREAD_CACHE_H
#define LM_THREAD_CACHE_H

#include "base/atomic.h"
#include "base/compiler.h"
#include "central/central.h"
#include "os/lock.h"
#include "pages/block.h"
#include "pages/region.h"
#include "pages/tags.h"
#include "sizeclass/sizeclass.h"

#if LM_HARDENED_FREES
/* Blocks that the thread has freed last, and others are freed instead of; api/hardened.c */
#define LM_HELD_COUNT 64
struct lm_held {
  void *blocks[LM_HELD_COUNT]; /* NULL: none */
  uint64_t random;             /* 0: not begun */
};
#endif

/* When blocks are guarded, by the option guard_ms; api/sampled.h */
struct lm_guard_plan {
  uint64_t last_ms; /* when the last one was */
  bool soon;        /* one of the next ones is to be */
  uint8_t skips;    /* after so many */
};

/* While a profile is taken; api/profile.h */
struct lm_cache_profile {
  struct lm_profile_window *window; /* what malloc takes from, or NULL */
};

/* What the thread knows of the clock; thread/tick.h */
struct lm_cache_clock {
  uint64_t seen_ms;      /* when the thread saw it last */
  uint64_t inspected_ms; /* when some of the cache's blocks were looked at last */
  uint32_t looks_left;   /* so many calls more may look at it */
  uint32_t event_count;  /* calls of slow paths that have asked a central */
};

/* Small blocks of any class that go home together, while the thread frees in bulk. Each of them may
 * be the last one that keeps a page. */
#define LM_HOMEWARD_COUNT 16
struct lm_homeward {
  size_t count; /* of blocks, the first ones */
  size_t limit; /* so many go together; 0: not in bulk */
  uint64_t age_ms; /* since malloc has asked a central, or lists that nobody wants are counted */
  struct lm_block *blocks[LM_HOMEWARD_COUNT];
};

/* What is known of a list, in one word, so that malloc and free count with one instruction: in the
 * lower half how many blocks it has at most, in the upper one its allowance. Of that a free spends
 * a little more than a malloc gives back. Below 0 free takes the slow path: where the list has
 * become full, and now and then in between, whatever a thread does, for there the clock is seen. */
typedef int32_t lm_tally;
#define LM_ALLOWANCE_OF_FREE 9
#define LM_ALLOWANCE_OF_MALLOC 8
#define LM_TALLY_OF_FREE (LM_ALLOWANCE_OF_FREE * 65536 - 1)
#define LM_TALLY_OF_MALLOC (LM_ALLOWANCE_OF_MALLOC * 65536 - 1)
/* The allowance of a list of which all frees take the slow path: it stays below 0 whatever malloc
 * gives. */
#define LM_ALLOWS_NONE (INT16_MIN / 2)
_Static_assert(LM_ALLOWS_NONE + 2 * LM_LIST_BLOCKS_MAX * LM_ALLOWANCE_OF_MALLOC < 0, "it stays so");

LM_INLINE lm_tally lm_tally_make(int32_t allowance, size_t count) {
  return allowance * 65536 + (int32_t)count;
}
LM_INLINE size_t lm_tally_count(lm_tally tally) { return (uint16_t)tally; }

struct lm_cache {
  /* By class: malloc pops, free pushes, by tag. The thread's own, but that reports read them. */
  struct lm_block *lists[LM_TAG_LIMIT];
  /* By tag. Always 0 for tags that are no small class's, and those of the middle classes stand
   * behind LM_TAG_LIMIT. */
  lm_tally tallies[LM_TAG_LIMIT];
  uint16_t caps[LM_BIN_COUNT];  /* 0: the class has not been asked for */
  uint16_t wants[LM_BIN_COUNT]; /* so many blocks spans are asked for next */
  lm_tally middle_tallies[LM_BIN_COUNT - LM_CLASS_COUNT];
  struct lm_central *central; /* where it asks first; NULL: it is no thread's (lm_empty_cache) */
  size_t granted_bytes;       /* what all lists may have by their caps */
  uint32_t close_looks;       /* so many frees more are looked at closely; thread/inspect.h */
  uint32_t next_class;        /* whose lists leave the cache next, by the clock or in bulk */
  uint32_t thread_id;         /* as the system numbers it; 0: it has none. For reports */
  uint32_t unwanted_count;    /* of lists that were given, since malloc asked a central */
  struct lm_homeward homeward;
  struct lm_cache_clock clock;
  struct lm_guard_plan guard;
  struct lm_cache_profile profile;
  struct lm_cache *next_made; /* of all ever made; never changes */
  struct lm_cache *next_idle; /* while it has no thread; under lm_caches_lock */
#if LM_HARDENED_FREES
  struct lm_held held;
#endif
};

/* The cache of a thread that has none yet: its lists are empty and take nothing, so that every call
 * takes the slow path, which makes one. Nothing is ever in it; all threads that have none count in
 * its tallies, and set them to 0 again: none is ever above. */
extern struct lm_cache lm_empty_cache;
LM_INLINE bool lm_cache_is_empty(const struct lm_cache *cache) { return cache == &lm_empty_cache; }
/* Whether it is neither that nor a window of a profile's (api/profile.h). */
LM_INLINE bool lm_cache_is_threads(const struct lm_cache *cache) { return cache->central != NULL; }

/* The calling thread's; never NULL. Reading it takes no call unless LM_TLS_DYNAMIC. */
extern LM_THREAD_LOCAL struct lm_cache *lm_this_cache LM_TLS_MODEL;
/* The cache whose lists malloc looks into: the same, or the empty one, so that the next call takes
 * the slow path, which looks at the clock, or a profile's window. */
extern LM_THREAD_LOCAL struct lm_cache *lm_malloc_cache LM_TLS_MODEL;

/* Of a cache whose memory is all zero: makes its lists empty. */
LM_INLINE void lm_cache_empty_lists(struct lm_cache *cache) {
  for (size_t i = 0; i < LM_BIN_COUNT; i++) cache->lists[i] = LM_NO_BLOCK;
}

LM_INLINE lm_tally *lm_cache_tally(struct lm_cache *cache, size_t class_index) {
  return class_index < LM_CLASS_COUNT ? &cache->tallies[class_index]
                                      : &cache->middle_tallies[class_index - LM_CLASS_COUNT];
}

/* Counts a free. Returns whether the list takes it; if not, lm_tally_undo_free comes next. */
LM_INLINE bool lm_tally_free(lm_tally *tally) {
  return !LM_FALLS_BELOW_0(tally, LM_TALLY_OF_FREE);
}
LM_INLINE void lm_tally_undo_free(const struct lm_cache *cache, lm_tally *tally) {
  if (lm_cache_is_empty(cache)) *tally = 0;
  else *tally += LM_TALLY_OF_FREE;
}

/* Pops a block of the class; NULL if the list is empty. */
LM_INLINE void *lm_cache_pop(struct lm_cache *cache, size_t class_index) {
  struct lm_block *block = cache->lists[class_index];
  if (LM_UNLIKELY(!lm_is_block(block))) return NULL;
  cache->lists[class_index] = lm_block_next(block);
  *lm_cache_tally(cache, class_index) += LM_TALLY_OF_MALLOC;
  return block;
}

/* Pushes a block that the tally has counted. */
LM_INLINE void lm_cache_push(struct lm_cache *cache, size_t class_index, struct lm_block *block) {
  lm_block_link(block, cache->lists[class_index]);
  cache->lists[class_index] = block;
}

/* Frees a block if its list takes it. */
LM_INLINE bool lm_cache_free(struct lm_cache *cache, size_t class_index, struct lm_block *block) {
  lm_tally *tally = lm_cache_tally(cache, class_index);
  if (LM_UNLIKELY(!lm_tally_free(tally))) {
    lm_tally_undo_free(cache, tally);
    return false;
  }
  lm_cache_push(cache, class_index, block);
  return true;
}

extern struct lm_lock lm_caches_lock;
extern size_t lm_cache_made_count; /* ever; under lm_caches_lock */
/* All ever made, linked by next_made; none ever goes. Stored under the lock with a release, which
 * pairs with the acquire of whoever walks them. */
extern _Atomic(struct lm_cache *) lm_caches_made;

#endif
