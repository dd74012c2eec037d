/* A heap: one thread's allocator state. Only its thread touches it, but for the inbox.
 *
 * malloc pops from the bin of the size class, and free pushes onto it if the block is the heap's
 * own. The bin takes so many; if the class has more than a few spans, the others go onto their
 * spans' own lists. Blocks of other heaps are collected in chains, one per
 * span, and sent to their owners' inboxes in batches (remote.c); but of the larger ones bins take
 * some as guests, which malloc hands out as it does the heap's own. A heap whose thread has ended
 * leaves its spans as orphans (orphan.c). */
#ifndef LM_HEAP_HEAP_H
#define LM_HEAP_HEAP_H

#include "base/atomic.h"
#include "base/compiler.h"
#include "heap/learning.h"
#include "os/lock.h"
#include "pages/chunk.h"
#include "pages/pool.h"
#include "pages/span.h"
#include "pages/tags.h"
#include "sizeclass/sizeclass.h"

/* One for each value that the class field of a tag can have. */
#define LM_BIN_COUNT LM_TAG_BIN_LIMIT

/* Blocks in one slice of a foreign span that this heap's thread has freed and not sent yet: a ring.
 * The block freed first is the chain's handle; from it one reaches the last, and so on back to it.
 * By slice, so that nothing of the span's has to be read to find the chain. */
struct lm_chain {
  uintptr_t slice; /* lm_chain_slice_of its blocks; 0: the chain is empty */
  struct lm_block *handle, *newest;
  uint32_t count;
  uint32_t weight; /* of each block; 0: they are middle blocks and differ */
};
#define LM_PART_CHAINS 8 /* so many are sent by one call */
#define LM_CHAIN_PARTS 32
#define LM_CHAIN_COUNT (LM_PART_CHAINS * LM_CHAIN_PARTS)

/* Chains on their way to one owner. */
struct lm_parcel {
  struct lm_heap *owner; /* of the last parcel, if it is empty */
  struct lm_message *first, *last; /* NULL: empty */
  uint32_t unanswered_count; /* sent to the owner, each of them when it had not taken the last */
};
#define LM_PARCEL_COUNT 8

/* A free middle block that is cached. */
struct lm_cached {
  struct lm_cached *next;
  _Atomic(uint32_t) *entry; /* its own in block_pages */
};

/* The heap's chunks, what it knows of them, and the blocks freed last; counts are of pages.
 * middle.h. What a block of n pages is found by has the index n - 1. */
struct lm_middle {
  uint64_t lengths; /* bit i: cached[i] has blocks */
  uint64_t runs;    /* bit n - 1: by_run[n] has chunks */
  ptrdiff_t cache_room; /* how much more may be cached; used_count counts that, too, but guests */
  size_t guests_left; /* pages of guests that the cache takes yet; lm_middle_guests_most */
  struct lm_learning learning; /* of pages that the program has, and of what was not cached */
  uint32_t calls_to_tick; /* not 0 */
  size_t used_count, dirty_count; /* in blocks; free and dirty */
  size_t flush_index;
  size_t empty_chunk_count;
  size_t debt_count; /* purged early and used again since: limits early purges */
  struct lm_refusals round_refusals, early_refusals; /* of rounds by the clock, of early purges */
  uint32_t tick_count;
  bool ages; /* a round is under way in which cached blocks go back and chunks are aged */
  uint8_t age_round;
  size_t age_run;             /* and chunks of by_run[age_run] have their turn, */
  struct lm_span *age_next;   /* this one first; NULL: it is the next list's */
  size_t flush_count;         /* cached pages that the round is to give back */
  bool takes; /* a block has been taken since an orphan was last adopted for its freed blocks */
  bool rests; /* most is free, as the last free has found, and heaps keep too much */
  struct lm_cached *cached[LM_CHUNK_RUN_MAX];       /* by length; guests of others' chunks, too */
  struct lm_span_list by_run[LM_CHUNK_RUN_MAX + 1]; /* by run_limit */
};

/* The large blocks that were freed last, in a ring; large_cache.h. */
#define LM_LARGE_CACHE_ENTRIES 8
struct lm_large_cache {
  bool caches; /* else there are only the blocks' lengths */
  uint8_t aged; /* bit i: entry i has been there since the last tick */
  uint8_t surplus; /* bit i: entry i's block, if there is one, is to go back */
  uint32_t next; /* entry next % LM_LARGE_CACHE_ENTRIES is the oldest, if there is such a block */
  uint32_t page_counts[LM_LARGE_CACHE_ENTRIES]; /* 0: there is none */
  void *blocks[LM_LARGE_CACHE_ENTRIES]; /* NULL where the heap does not have it */
  size_t page_count; /* of what is cached */
  size_t room_count; /* so many pages may be taken without having more than since the last tick */
  uint32_t score;    /* how well the entries serve */
  uint32_t hit_count;
};

/* Empty spans that the heap keeps, and what it knows of them; counts are of slices. spares.h. */
struct lm_spares {
  uint64_t classes[LM_BITMAP_WORDS(LM_CLASS_COUNT)]; /* bit i: spare_spans[i] has some */
  size_t next_class; /* of which one is given back next */
  size_t count;
  size_t lowest_count;  /* since the last tick */
  size_t surplus_count; /* was not needed between the last two ticks and goes back */
  struct lm_learning learning; /* of slices in spans that are no spares */
};

/* watch.h */
struct lm_watch {
  uint64_t seen_ms;    /* when the clock was last seen */
  uint32_t free_count; /* so many frees more may look at it, each of them */
  bool keeps_much; /* that only time gives back: all bins are bounded, and empty ones look */
};

/* The round in which the heap's usable spans are looked at for holes; holes.h */
struct lm_holes {
  bool goes_on;  /* some have not been looked at */
  bool inherits; /* no round has passed all since the process was forked */
  uint8_t round;
  uint32_t copy_number; /* of the process that has gone on with it last, or made the heap */
  size_t class_index;  /* of which spans are looked at next */
  size_t credit;       /* what may be spent: grows with time, and with the heap */
  size_t sparse_count; /* spans looked at that may get holes in a later round */
  size_t growth_slices; /* once the heap has so many, a round begins */
};

/* Visits of others while the thread sleeps; visit.h */
struct lm_visits {
  /* How deep the thread is in slow paths, and it counts as in one while the heap has no thread.
   * Written by the thread, read by who parks the heap: its acquire pairs with the release of who
   * leaves. */
  _Atomic(uint32_t) entered;
  /* enum lm_parked. Written by who parks and visits, one at a time, and by the thread that takes
   * the heap back. The compare-and-swaps acquire what the end of a visit releases. */
  _Atomic(uint32_t) parked;
  /* What follows is written under the lock of visits. */
  uint32_t left;       /* so many rounds more are worth a visit */
  uint64_t visited_ms; /* when the heap last had its turn in a round */
  size_t kept_bytes;   /* about what it kept then that only time gives back */
  bool underway;       /* of its own thread's work; read by both, in a slow path or a visit */
};
#define LM_VISITS_OF_PARKED 128

/* A bin's room is opened in so many doublings (heap.c). */
#define LM_ROOM_STEPS 4

#if LM_HARDENED_FREES
/* Blocks that the thread has freed last, and others are freed instead of; api/hardened.c */
#define LM_HELD_COUNT 64
struct lm_held {
  void *blocks[LM_HELD_COUNT]; /* NULL: none */
};
#endif

/* What the clock brings about; tick.c */
struct lm_tick {
  uint64_t last_ms;      /* when the last one began that looks at all */
  uint64_t bins_aged_ms; /* when what is in bins became reserves last */
  size_t trim_class;     /* classes below have been looked at since then */
  struct lm_refusals refusals; /* of what spans do not use; a round is from one to the next */
  uint32_t refill_count; /* of which one in some looks at the clock */
  bool underway;         /* what it brings about starts no other */
  /* It has left some of that to the next ones. */
  bool turns_pools, ends_kept, visits_others;
  uint8_t last_job; /* of those, and of middle blocks' rounds, the one that had its turn */
};

/* Reserves, and bins without room, that are being put back into their spans, some blocks in each
 * call; bins.c */
struct lm_drain {
  uint64_t classes[LM_BITMAP_WORDS(LM_CLASS_COUNT)];
  size_t next_class;  /* the one whose turn it is */
  bool goes_on, fast; /* there are such; more blocks in each call */
};

/* Whether memory is being freed in bulk. */
struct lm_bulk {
  size_t fallen_count; /* slices that bins may keep since most has been freed; 0: they do not */
  struct lm_span *sentinel;    /* whose blocks go into it though its bin has room; or NULL */
  uint32_t parts_since_refill; /* parts of the chains sent since malloc last found a bin empty */
  size_t bytes_since_refill;   /* and about what bins have taken meanwhile */
};

/* Blocks of other heaps that are not sent yet; remote.c. The chains and parcels themselves stand at
 * the heap's end. */
struct lm_outbox {
  size_t weight;    /* about what is in chains and parcels; 0: nothing */
  size_t next_part; /* the chains that are sent next */
  uint8_t used_chains[LM_CHAIN_PARTS]; /* bit i of a part: its chain i has blocks */
  uint8_t unanswered; /* lm_remote_is_unanswered */
};

/* While the heap has no thread; under the lists' lock, but for `bytes`. lifetime.c */
struct lm_kept {
  struct lm_heap *next;
  struct lm_heap *newer; /* of a kept heap: the one that was kept after it */
  size_t bytes;          /* what it was kept with when its thread ended; 0: nothing */
  uint64_t since_ms;     /* when that was */
  bool left_in_part;     /* more is to be left of it than one call may */
};

/* When blocks are guarded, by the option guard_ms; api/sampled.h */
struct lm_guard_plan {
  uint64_t last_ms; /* when the last one was */
  bool soon;        /* one of the next ones is to be */
  uint8_t skips;    /* after so many */
};

/* While a profile is; api/profile.h */
struct lm_heap_profile {
  struct lm_profile_window *window; /* what malloc takes from, or NULL */
  /* The window's, or NULL. By class: the bin's blocks + frees_left + guests_left, which the
   * thread's frees do not change as long as frees_left is not negative; 0: not known. */
  uint16_t *bin_sums;
};

/* A thread that has a few small blocks touches the first page only: what it needs stands in front,
 * up to the counts of `middle`. The others are touched once there is something to put there. */
struct lm_heap {
  struct lm_block *bins[LM_BIN_COUNT];
  /* How many frees the bin takes until it is looked at again; negative: none, until malloc finds it
   * and its reserve empty. */
  int16_t frees_left[LM_BIN_COUNT];
  uint32_t tag; /* the tag of its spans, but for the class and the sentinel bit */
  /* What the fast path of free compares with: the same, or, while the heap watches the clock,
   * LM_TAG_NO_HEAP, so that every free takes the slow path. Written by the owner, and by who sends
   * it blocks that it does not take (remote.c). */
  _Atomic(uint32_t) free_tag;
  struct lm_watch watch;
  struct lm_visits visits;
  struct lm_pool *pool;

  /* By class. */
  struct lm_span *current[LM_CLASS_COUNT]; /* NULL if there is none */
  uint32_t span_counts[LM_CLASS_COUNT];    /* of all the heap's spans */
  /* How often the bin's room has been doubled; LM_ROOM_STEPS: it is all that it can be. */
  uint8_t room_steps[LM_CLASS_COUNT];
  /* Blocks of larger classes that requests of this one got since it last had a span. */
  uint8_t borrowed_counts[LM_CLASS_COUNT];
  uint8_t guests_left[LM_CLASS_MIDDLE + 1]; /* that the class still takes; none of middle blocks */
  bool has_guests[LM_CLASS_COUNT]; /* in the bin or in the reserve; it may be true without any */

  /* Classes whose reserves a tick has seen, and malloc has not taken since. */
  uint64_t seen_reserves[LM_BITMAP_WORDS(LM_CLASS_COUNT)];
  /* Classes whose bins were full, or have aged, and malloc has not taken the reserve since; the
   * others' reserves are of guests alone. */
  uint64_t spare_reserves[LM_BITMAP_WORDS(LM_CLASS_COUNT)];
  struct lm_tick tick;
  struct lm_drain drain;
  struct lm_bulk bulk;
  struct lm_holes holes;
  size_t slice_count;       /* of all the heap's spans, but for chunks */
  struct lm_span *newest;   /* the span that began last, or NULL */
  size_t reported_bytes;    /* budget.h */
  uint32_t close_looks;     /* so many frees more are looked at closely; inspect.h */
  uint32_t early_growths;   /* while messages waited, since the inbox was last found empty */
  struct lm_message *received; /* taken out of the inbox and not put back yet, newest first */
  struct lm_outbox outbox;
  struct lm_kept kept;
  struct lm_heap *next_made; /* of all ever made; never changes */
#if LM_HARDENED_ANY
  uint64_t random; /* lm_heap_random; 0: not begun */
#endif
  struct lm_guard_plan guard;
  struct lm_heap_profile profile;
  uint32_t thread_id; /* as the system numbers the heap's thread; 0: it has none, or its number
                       * has not been asked for. For reports */

  /* Messages from other threads, newest first; LM_INBOX_CLOSED once the thread has ended.
   * Pushed by any thread with a releasing compare-and-swap, taken whole by the owner with an
   * acquiring exchange. On a line of its own. */
  LM_CACHE_ALIGNED _Atomic(struct lm_message *) inbox;
  /* The lower half of tick.last_ms: a hint for who parks, and all that he reads of a heap that is
   * not to be parked; the line is others' anyway. */
  _Atomic(uint32_t) ticked_ms;

  LM_CACHE_ALIGNED struct lm_spares spares;
  struct lm_middle middle;
  struct lm_large_cache large_cache;
#if LM_HARDENED_FREES
  struct lm_held held; /* its thread's */
#endif

  /* By class, again. */
  struct lm_span *spare_spans[LM_CLASS_COUNT]; /* linked by next; spares.h */
  struct lm_span_list usable[LM_CLASS_COUNT];
  struct lm_span_list full[LM_CLASS_COUNT];
  /* What was in the bin when it had no more room, or when the clock went on, and guests, where
   * owners do not take what they are sent. malloc takes it, or a part of it, once the bin is empty.
   * NULL: nothing. */
  struct lm_block *reserves[LM_CLASS_COUNT];

  LM_CACHE_ALIGNED struct lm_chain chains[LM_CHAIN_COUNT];
  struct lm_parcel parcels[LM_PARCEL_COUNT];
};
#define LM_INBOX_CLOSED ((struct lm_message *)1)

/* The heap of a thread that has none yet: its bins are empty and its tag is nobody's, so that
 * every call takes the slow path, which makes one. Never written to. */
extern struct lm_heap lm_empty_heap;

#if LM_HARDENED_ANY
/* A number that nobody foresees who does not know the heap. */
LM_INLINE uint64_t lm_heap_random(struct lm_heap *heap) {
  if (LM_UNLIKELY(heap->random == 0)) heap->random = lm_os_random() | 1;
  heap->random ^= heap->random << 13;
  heap->random ^= heap->random >> 7;
  heap->random ^= heap->random << 17;
  return heap->random >> 16;
}
#endif

/* Of a heap whose memory is all zero: makes its bins empty. */
LM_INLINE void lm_heap_empty_bins(struct lm_heap *heap) {
  for (size_t i = 0; i < LM_BIN_COUNT; i++) heap->bins[i] = LM_NO_BLOCK;
}

LM_INLINE bool lm_heap_is_empty(const struct lm_heap *heap) { return heap == &lm_empty_heap; }

/* Whether it is neither that nor some bins that stand for a heap (api/profile.h). */
LM_INLINE bool lm_heap_has_spans(const struct lm_heap *heap) {
  return heap->tag != LM_TAG_NO_HEAP;
}

/* The class's bin changes otherwise than by its thread's frees. */
LM_INLINE void lm_heap_forget_sum(struct lm_heap *heap, size_t class_index) {
  if (LM_UNLIKELY(heap->profile.bin_sums != NULL)) heap->profile.bin_sums[class_index] = 0;
}

/* What the heap's spans hold, used or not. */
LM_INLINE size_t lm_heap_held_pages(const struct lm_heap *heap) {
  size_t slice_count = heap->slice_count + heap->spares.count;
  return (slice_count << (LM_SLICE_SHIFT - lm_os.page_shift)) + heap->middle.used_count +
         heap->middle.dirty_count;
}

/* Of a call's effort (lm_purge_effort), what goes back to the pool may take, which is apart and may
 * be purged at once. */
LM_INLINE void lm_heap_spend_on_freed(size_t *effort, size_t page_count) {
  lm_spend_effort(effort, page_count + page_count / 2);
}

/* What it takes to put some messages or blocks back, 1 to 2 microseconds, and what became free. */
#define LM_STEP_EFFORT 4
LM_INLINE void lm_heap_spend_on_step(const struct lm_heap *heap, size_t held_before,
                                     size_t *effort) {
  size_t held = lm_heap_held_pages(heap); /* more than before if it has adopted an orphan */
  lm_spend_effort(effort, LM_STEP_EFFORT);
  lm_heap_spend_on_freed(effort, lm_max(held_before, held) - held);
}

/* Pops a block of the class; NULL if the bin is empty. */
LM_INLINE void *lm_heap_pop(struct lm_heap *heap, size_t class_index) {
  struct lm_block *block = heap->bins[class_index];
  if (LM_UNLIKELY(!lm_is_block(block))) return NULL;
  heap->bins[class_index] = lm_block_next(block);
  return block;
}

/* For a class without spans, a free block out of the bin of one that is a little larger; NULL if
 * there is none, if an orphan waits, or if the class has borrowed as many as are worth a span. */
void *lm_heap_borrow(struct lm_heap *heap, size_t class_index);

/* A block of the class whose bin was found empty; NULL if out of memory. `*zero` says whether the
 * block reads as zero. */
void *lm_heap_take_slow(struct lm_heap *heap, size_t class_index, bool *zero);

/* `first` is the bin's. */
LM_INLINE void lm_heap_push_before(struct lm_heap *heap, size_t class_index, struct lm_block *block,
                                   struct lm_block *first) {
  lm_block_link(block, first);
  heap->bins[class_index] = block;
}
LM_INLINE void lm_heap_push(struct lm_heap *heap, size_t class_index, struct lm_block *block) {
  lm_heap_push_before(heap, class_index, block, heap->bins[class_index]);
}

/* Frees a block of the heap's own whose bin has no room: frees_left[class_index] has just fallen
 * below 0, or was there. */
void lm_heap_free_beyond(struct lm_heap *heap, size_t class_index, struct lm_block *block);

LM_INLINE void lm_heap_free_own(struct lm_heap *heap, size_t class_index, struct lm_block *block) {
  if (LM_LIKELY(--heap->frees_left[class_index] >= 0)) lm_heap_push(heap, class_index, block);
  else lm_heap_free_beyond(heap, class_index, block);
}

/* Frees a block of the heap's sentinel. */
void lm_heap_free_to_sentinel(struct lm_heap *heap, struct lm_block *block);

/* Puts `count` blocks of one own span back, linked from `first` to `last`. Returns whether a tick
 * is due. The caller at the top makes it: down here chains may be half packed. */
bool lm_heap_put_back(struct lm_heap *heap, struct lm_span *span, struct lm_block *first,
                      struct lm_block *last, size_t count);

/* So many guests the class takes at a time (remote.h). */
uint8_t lm_guests_per_refill(const struct lm_heap *heap, size_t class_index);

/* A span that was an orphan, on no list, is the heap's from here on. */
void lm_heap_own(struct lm_heap *heap, struct lm_span *span);

/* What is in bins that are not bounded goes into spans, and so do the frees that follow, until
 * malloc asks for the class. Once the heaps' budget is spent, in all bins. */
void lm_heap_drain_all(struct lm_heap *heap);

/* Puts the blocks of a bin and of its reserve back into their spans. */
void lm_heap_flush_bin(struct lm_heap *heap, size_t class_index);

/* No bin takes guests until malloc finds it empty, and those that have some are put back, some
 * blocks in each call. */
void lm_heap_send_guests(struct lm_heap *heap);

/* Puts the blocks of all bins that have guests back now. */
void lm_heap_flush_guests(struct lm_heap *heap);

/* Does what the passing of time asks for, if it has passed: sends chains, empties bins that are not
 * used, gives empty spans back, turns the purge clock; the more, the longer the thread has not seen
 * the clock. Called from slow paths. */
void lm_heap_tick(struct lm_heap *heap);
/* The same in calls of a kind of which each does it. */
void lm_heap_tick_often(struct lm_heap *heap);
/* Whether ticks have left anything of their jobs to the next ones. */
bool lm_heap_ticks_left_any(const struct lm_heap *heap);

/* What a tick does of that for a parked heap (visit.h). Returns whether there is more to do at
 * once; takes no longer than a tick. */
bool lm_heap_visit(struct lm_heap *heap, uint64_t now_ms);
/* lm_heap_send_all and lm_heap_trim of a parked heap, whose reserves they reach, but not its bins.
 * The first returns false. */
bool lm_heap_visit_to_send(struct lm_heap *heap, uint64_t unused);
bool lm_heap_visit_to_trim(struct lm_heap *heap, uint64_t unused);

/* From one look at what is kept to the next. Short while memory is short. */
uint64_t lm_heap_tick_interval_ms(void);

/* Puts all free blocks back, its own into their spans and chunks, others' to their owners. */
void lm_heap_send_all(struct lm_heap *heap);

/* The same, and takes messages, gives all empty spans to the pool, and the pages without a block in
 * the others to the system, now. Returns whether there were such pages. */
bool lm_heap_trim(struct lm_heap *heap);

/* A heap for the calling thread, or NULL if out of memory. */
struct lm_heap *lm_heap_begin(void);

/* Ends the calling thread's heap, which waits for another thread then: as it is if it is small
 * enough to be kept, else without spans. Of these, the empty ones go back to their pools and the
 * others become orphans, as many as one call may; the next function goes on with it. */
void lm_heap_end(struct lm_heap *heap);

/* Takes the spans of the heap that has been kept longest, if it has been for `age_ms`, or some of
 * those of a large one that has ended. False if there is none such. One at a time, so that no call
 * pays for all. */
bool lm_heap_end_oldest_kept(uint64_t age_ms);

/* In the child of a fork, whose only thread has this heap, or none. */
void lm_heap_after_fork(struct lm_heap *heap);

/* Heaps without a thread that have been left in part. Written under lm_heaps_lock; read by whoever
 * asks whether there is a reason to look at the clock. */
extern _Atomic(size_t) lm_heaps_left_in_part;

extern struct lm_lock lm_heaps_lock;
extern size_t lm_heap_made_count; /* heaps ever made; under lm_heaps_lock */
/* All of them, linked by next_made; none ever goes. Stored under the lock with a release, which
 * pairs with the acquire of whoever walks them. */
extern _Atomic(struct lm_heap *) lm_heaps_made;

#endif
