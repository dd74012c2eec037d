#include "heap/middle.h"

#include <string.h>

#include "config/options.h"
#include "heap/budget.h"
#include "heap/orphan.h"
#include "heap/remote.h"
#include "heap/span_life.h"
#include "heap/transfer.h"
#include "heap/visit.h"
#include "os/panic.h"

/* Free dirty pages that a heap keeps in any case; and a part of what it uses. */
#define KEEP_BYTES (64 * LM_KIB)
#define KEEP_FRACTION 16
/* The same for blocks that are free and cached. */
#define CACHE_BYTES (64 * LM_KIB)
#define CACHE_FRACTION 4
#define CREDIT_BYTES (1 * LM_MIB)
/* What one call may purge early, so that no call pays for all. */
#define EARLY_PAGES 64
#define EARLY_EFFORT (EARLY_PAGES + 8 * LM_PURGE_CALL_EFFORT)
/* What it takes to release a cached block, beside what that purges; and to put back some that
 * others have sent, about, with that. */
#define RELEASE_EFFORT 4
#define COLLECT_EFFORT 128
/* Reading the clock costs as much as taking a block. */
#define CALLS_PER_TICK 32

#define FITTING(index) ((((uint64_t)2 << ((index) + 1) / 5) - 1) << (index))
#define FITTING_4(i) FITTING(i), FITTING((i) + 1), FITTING((i) + 2), FITTING((i) + 3)
#define FITTING_16(i) FITTING_4(i), FITTING_4((i) + 4), FITTING_4((i) + 8), FITTING_4((i) + 12)
const uint64_t lm_middle_fitting[] = {FITTING_16(0), FITTING_16(16), FITTING_16(32),
                                      FITTING_16(48)};
_Static_assert(sizeof lm_middle_fitting == LM_CHUNK_RUN_MAX * sizeof(uint64_t), "one per length");

static size_t pages_in(size_t bytes) { return bytes >> lm_os.page_shift; }

static size_t cache_limit(size_t used_count) {
  return pages_in(CACHE_BYTES) + used_count / CACHE_FRACTION;
}

void lm_middle_begin(struct lm_heap *heap) {
  heap->middle.cache_room = (ptrdiff_t)cache_limit(0);
  heap->middle.calls_to_tick = CALLS_PER_TICK;
}

/* The cache's limit follows. */
static void set_used_count(struct lm_middle *middle, size_t count) {
  middle->cache_room += (ptrdiff_t)cache_limit(count) - (ptrdiff_t)cache_limit(middle->used_count);
  middle->used_count = count;
}

static size_t pages_cached(const struct lm_middle *middle) {
  return (size_t)((ptrdiff_t)cache_limit(middle->used_count) - middle->cache_room);
}
size_t lm_middle_cached_count(const struct lm_heap *heap) { return pages_cached(&heap->middle); }

/* Guests are cached, but not in use in the heap's chunks. */
static size_t live_count(const struct lm_middle *middle) {
  return middle->used_count - lm_min(middle->used_count, pages_cached(middle));
}
size_t lm_middle_live_count(const struct lm_heap *heap) { return live_count(&heap->middle); }

void lm_middle_forget(struct lm_heap *heap) {
  heap->middle.learning = (struct lm_learning){0};
}

/* If the program has had less than half of what was learnt, half will do. */
static void unlearn(struct lm_middle *middle) {
  struct lm_learning *learning = &middle->learning;
  if (learning->used_peak < learning->learnt_count / 2) learning->learnt_count /= 2;
  lm_learning_tick(learning, live_count(middle));
}

/* ---- The heap's chunks, by their longest free run ---- */

static void list_chunk(struct lm_middle *middle, struct lm_span *span, size_t run) {
  lm_span_list_push_front(&middle->by_run[run], span);
  if (run != 0) middle->runs |= (uint64_t)1 << (run - 1);
}

static void unlist_chunk(struct lm_middle *middle, struct lm_span *span, size_t run) {
  if (middle->age_next == span) middle->age_next = span->next;
  lm_span_list_remove(&middle->by_run[run], span);
  if (run != 0 && middle->by_run[run].first == NULL) middle->runs &= ~((uint64_t)1 << (run - 1));
}

static void relist_chunk(struct lm_middle *middle, struct lm_span *span, size_t run_before) {
  size_t run = lm_chunk_of_span(span)->run_limit;
  if (LM_LIKELY(run == run_before)) return;
  unlist_chunk(middle, span, run_before);
  list_chunk(middle, span, run);
}

void lm_middle_own(struct lm_heap *heap, struct lm_span *span) {
  struct lm_middle *middle = &heap->middle;
  struct lm_chunk *chunk = lm_chunk_of_span(span);
  span->state = LM_SPAN_CHUNK;
  lm_span_set_tag(span, heap->tag | LM_TAG_CHUNK | LM_CLASS_MIDDLE);
  chunk->age_round = middle->age_round;
  list_chunk(middle, span, chunk->run_limit);
  set_used_count(middle, middle->used_count + span->used_count);
  middle->dirty_count += lm_load_relaxed(&chunk->dirty_count);
  if (span->used_count == 0) middle->empty_chunk_count++;
}

static void remove_chunk(struct lm_heap *heap, struct lm_span *span) {
  struct lm_middle *middle = &heap->middle;
  struct lm_chunk *chunk = lm_chunk_of_span(span);
  unlist_chunk(middle, span, chunk->run_limit);
  lm_assert(span->used_count <= middle->used_count);
  lm_assert(lm_load_relaxed(&chunk->dirty_count) <= middle->dirty_count);
  set_used_count(middle, middle->used_count - span->used_count);
  middle->dirty_count -= lm_load_relaxed(&chunk->dirty_count);
  if (span->used_count == 0) middle->empty_chunk_count--;
}

struct lm_span *lm_middle_remove(struct lm_heap *heap) {
  struct lm_middle *middle = &heap->middle;
  size_t run = middle->runs != 0 ? (size_t)__builtin_ctzll(middle->runs) + 1 : 0;
  struct lm_span *span = middle->by_run[run].first;
  if (span == NULL) span = middle->by_run[0].first;
  if (span != NULL) remove_chunk(heap, span);
  return span;
}

/* A chunk that an orphan was, or a new one. False if out of memory. */
static bool add_chunk(struct lm_heap *heap) {
  struct lm_span *span = lm_orphan_adopt(heap, LM_CLASS_MIDDLE);
  if (span == NULL) {
    size_t regretted;
    char *start = lm_pool_take_chunk(heap->pool, &regretted);
    if (start == NULL) return false;
    heap->middle.debt_count += regretted;
    span = lm_span_begin(start, heap, LM_CLASS_MIDDLE, LM_CHUNK_SLICES);
  }
  lm_middle_own(heap, span);
  return true;
}

/* ---- Purging ---- */

/* What there was to purge in a chunk, if it has taken any of the effort, was taken or refused. */
static void note_purged(struct lm_refusals *refusals, size_t purged_count, size_t spent) {
  if (spent != 0) lm_refusals_note(refusals, purged_count != 0);
}

/* Purges free dirty pages until about `keep` are left, the emptiest chunks first, as far as a call
 * may. */
static void purge_down_to(struct lm_middle *middle, size_t keep) {
  size_t effort = EARLY_EFFORT;
  for (size_t run = LM_CHUNK_RUN_MAX; run > 0; run--) {
    for (struct lm_span *span = middle->by_run[run].first; span != NULL; span = span->next) {
      if (middle->dirty_count <= keep || effort == 0) return;
      size_t effort_before = effort;
      size_t purged = lm_chunk_purge(span, middle->dirty_count - keep, &effort);
      middle->dirty_count -= purged;
      note_purged(&middle->early_refusals, purged, effort_before - effort);
      effort -= effort != 0; /* a chunk without any costs, too */
    }
  }
}

/* Purges early if there is much to purge and credit for it. */
static void purge_middle_early(struct lm_middle *middle) {
  bool pressed = lm_pressed(LM_PRESSURE_SOME) || lm_budget_reaches_option();
  if (LM_UNLIKELY(LM_OPTION(cache_bytes) != LM_CACHE_AUTO) && !pressed) return;
  size_t keep = pressed ? 0 : pages_in(KEEP_BYTES) + middle->used_count / KEEP_FRACTION;
  if (LM_LIKELY(middle->dirty_count <= keep) || LM_OPTION(purge_delay_ms) == 0) return;
  if (middle->debt_count >= pages_in(CREDIT_BYTES) && !pressed) return;
  if (lm_refusals_last(&middle->early_refusals)) return;
  size_t lowest = middle->dirty_count - lm_min(middle->dirty_count, EARLY_PAGES);
  purge_down_to(middle, lm_max(keep / 2, lowest));
  lm_refusals_end_round(&middle->early_refusals);
}

static void give_empty_chunk(struct lm_heap *heap, struct lm_span *span) {
  lm_assert(span->used_count == 0 && span->state == LM_SPAN_CHUNK);
  remove_chunk(heap, span);
  lm_span_end(span);
}

void lm_middle_trim(struct lm_heap *heap) {
  struct lm_middle *middle = &heap->middle;
  size_t effort = SIZE_MAX;
  lm_middle_release(heap, SIZE_MAX);
  for (size_t run = 0; run <= LM_CHUNK_RUN_MAX; run++) {
    for (struct lm_span *span = middle->by_run[run].first, *next; span != NULL; span = next) {
      next = span->next;
      middle->dirty_count -= lm_chunk_purge(span, SIZE_MAX, &effort);
      if (span->used_count == 0) give_empty_chunk(heap, span);
    }
  }
}

/* ---- Blocks ---- */

static void tick(struct lm_heap *heap) {
  heap->middle.calls_to_tick = CALLS_PER_TICK;
  lm_heap_tick(heap);
}

/* Not onto a chain: what packs one may release cached blocks, too. */
static LM_NOINLINE void send_guest_home(void *block) {
  lm_middle_send(block);
  lm_remote_free_now(block);
}

/* Frees the pages of a block that is not cached any longer. */
static void release(struct lm_heap *heap, void *block) {
  struct lm_middle *middle = &heap->middle;
  struct lm_span *span = lm_span_of(block);
  if (LM_UNLIKELY(lm_load_relaxed(&span->owner) != heap)) {
    send_guest_home(block);
    return;
  }
  size_t run_before = lm_chunk_of_span(span)->run_limit;
  size_t page_count = lm_chunk_give(span, block);
  set_used_count(middle, middle->used_count - page_count);
  middle->dirty_count += page_count;
  relist_chunk(middle, span, run_before);
  if (LM_UNLIKELY(span->used_count == 0) &&
      (++middle->empty_chunk_count > 1 || lm_budget_exceeded()))
    give_empty_chunk(heap, span);
}

/* Releases a cached block, of which there are some: length by length. */
LM_INLINE void release_cached(struct lm_heap *heap) {
  struct lm_middle *middle = &heap->middle;
  while (middle->cached[middle->flush_index] == NULL)
    middle->flush_index = (middle->flush_index + 1) % LM_CHUNK_RUN_MAX;
  release(heap, lm_middle_pop(middle, middle->flush_index));
}

static void flush_one_cached(struct lm_heap *heap) {
  release_cached(heap);
  purge_middle_early(&heap->middle);
}

/* What becomes free by it waits for a round, of the heap's or of orphans: there may be much. */
bool lm_middle_release(struct lm_heap *heap, size_t most) {
  for (; heap->middle.lengths != 0 && most != 0; most--) release_cached(heap);
  return heap->middle.lengths == 0;
}

/* Most of what was used is free, and heaps keep too much: cached blocks would keep chunks that the
 * pool could have. */
static bool may_rest(const struct lm_middle *middle) {
  return live_count(middle) < middle->learning.used_peak / LM_LEARNING_FALL_FRACTION &&
         lm_budget_exceeded();
}

/* Makes room for what has been cached, by two blocks at most: a long one should not pay for many
 * short ones. */
static void flush_surplus(struct lm_heap *heap) {
  struct lm_middle *middle = &heap->middle;
  size_t used_before = middle->used_count;
  middle->learning.used_peak = lm_max(middle->learning.used_peak, live_count(middle));
  lm_budget_report(heap);
  bool rests = may_rest(middle);
  if (LM_UNLIKELY(rests && !middle->rests)) lm_heap_drain_all(heap); /* as small blocks may */
  middle->rests = rests;
  for (int i = 0; i < 2 && middle->lengths != 0; i++) {
    if (middle->cache_room >= 0 && !rests) break;
    if (middle->used_count <= middle->learning.learnt_count && !lm_budget_exceeded()) break;
    flush_one_cached(heap);
  }
  size_t given_count = used_before - middle->used_count;
  if (given_count != 0)
    lm_learning_note_given(&middle->learning, live_count(middle), given_count);
}

/* NULL if the chunk turns out to have no such run. */
static void *take_from(struct lm_heap *heap, struct lm_span *span, size_t page_count, bool clear) {
  struct lm_middle *middle = &heap->middle;
  bool was_empty = span->used_count == 0;
  size_t limit_before = lm_chunk_of_span(span)->run_limit, reused, regretted;
  void *block = lm_chunk_take(span, page_count, clear, &reused, &regretted);
  if (LM_UNLIKELY(block == NULL)) {
    relist_chunk(middle, span, limit_before);
    return NULL;
  }
  lm_assert(was_empty <= middle->empty_chunk_count && reused <= middle->dirty_count);
  middle->empty_chunk_count -= was_empty;
  set_used_count(middle, middle->used_count + page_count);
  middle->dirty_count -= reused;
  middle->debt_count += regretted;
  middle->guests_left = lm_middle_guests_most();
  return block;
}

/* A block that others have freed, rather than pages that would be used beside it. */
static void *take_transferred(struct lm_heap *heap, size_t page_count) {
  void *block = lm_transfer_take_middle(heap, page_count - 1);
  if (block != NULL) heap->middle.guests_left = lm_middle_guests_most();
  return block;
}

/* So that a block is found: takes some of what others have sent, releases a cached block, whose
 * pages are not purged, since they are about to be used, or adds a chunk, also once one call has
 * done as much as it may. False if out of memory. */
static bool bring_room(struct lm_heap *heap, size_t *effort) {
  if (*effort != 0 && lm_remote_collect_some(heap)) {
    lm_spend_effort(effort, COLLECT_EFFORT);
    return true;
  }
  if (*effort != 0 && heap->middle.lengths != 0) {
    release_cached(heap);
    lm_spend_effort(effort, RELEASE_EFFORT);
    return true;
  }
  if (add_chunk(heap)) return true;
  if (*effort != 0) return false;
  *effort = SIZE_MAX; /* rather than none at all */
  return true;
}

static void *take_entered(struct lm_heap *heap, size_t page_count, bool clear) {
  struct lm_middle *middle = &heap->middle;
  size_t effort = lm_purge_effort();
  if (--middle->calls_to_tick == 0) tick(heap);
  lm_remote_collect_some(heap);
  middle->takes = true;
  for (;;) {
    void *used = lm_middle_take_cached(middle, page_count - 1);
    if (used == NULL && lm_load_relaxed(&lm_transfers_in_use))
      used = take_transferred(heap, page_count);
    if (used != NULL) return clear ? memset(used, 0, page_count << lm_os.page_shift) : used;
    uint64_t fitting = middle->runs >> (page_count - 1);
    if (LM_UNLIKELY(fitting == 0)) {
      if (!bring_room(heap, &effort)) return NULL;
      continue;
    }
    size_t run = page_count + (size_t)__builtin_ctzll(fitting);
    void *block = take_from(heap, middle->by_run[run].first, page_count, clear);
    if (LM_UNLIKELY(block == NULL)) continue;
    lm_learning_note_used(&middle->learning, live_count(middle));
    lm_learning_note_asked(&middle->learning, page_count, lm_os.page_shift);
    return block;
  }
}

void *lm_middle_take(struct lm_heap *heap, size_t page_count, bool clear) {
  lm_heap_enter(heap);
  void *block = take_entered(heap, page_count, clear);
  lm_heap_leave(heap);
  return block;
}

static void after_give(struct lm_heap *heap) {
  flush_surplus(heap);
  if (heap->middle.calls_to_tick <= 1 || heap->drain.goes_on) tick(heap);
  else heap->middle.calls_to_tick--;
  if (heap->middle.rests) heap->middle.calls_to_tick = 1; /* the next free is as this one */
}

LM_NOINLINE void lm_middle_give_slow(struct lm_heap *heap) {
  after_give(heap);
  lm_heap_leave_at_last(heap);
}

LM_NOINLINE void lm_middle_give_inside(struct lm_heap *heap, void *block, size_t page_count) {
  lm_heap_enter(heap);
  lm_middle_push(&heap->middle, block, lm_region_block_entry(block), page_count - 1);
  after_give(heap);
  lm_heap_leave(heap);
}

static void cache_put_back(struct lm_heap *heap, void *block) {
  lm_middle_push(&heap->middle, block, lm_region_block_entry(block),
                 lm_region_block_pages(block) - 1);
  flush_surplus(heap);
}

void lm_middle_put_back(struct lm_heap *heap, struct lm_block *first, size_t count) {
  for (struct lm_block *block = first, *next; count > 0; count--, block = next) {
    next = lm_block_next(block);
    if (heap->visits.underway) release(heap, block);
    else cache_put_back(heap, block);
  }
}

static bool resize_entered(struct lm_heap *heap, void *block, size_t page_count) {
  struct lm_middle *middle = &heap->middle;
  struct lm_span *span = lm_span_of_own(block);
  struct lm_chunk *chunk = lm_chunk_of_span(span);
  size_t run_before = chunk->run_limit, dirty_before = lm_load_relaxed(&chunk->dirty_count);
  size_t used_before = span->used_count, regretted;
  if (page_count > LM_CHUNK_RUN_MAX || !lm_chunk_resize(span, block, page_count, &regretted))
    return false;
  middle->debt_count += regretted;
  set_used_count(middle, middle->used_count + span->used_count - used_before);
  middle->dirty_count += lm_load_relaxed(&chunk->dirty_count) - dirty_before;
  relist_chunk(middle, span, run_before);
  return true;
}

bool lm_middle_resize(struct lm_heap *heap, void *block, size_t page_count) {
  lm_heap_enter(heap);
  bool done = resize_entered(heap, block, page_count);
  lm_heap_leave(heap);
  return done;
}

bool lm_middle_send(void *block) {
  size_t page_count = lm_region_live_pages(block);
  if (page_count == 0) return false;
  lm_region_set_block_pages(block, page_count | LM_BLOCK_ON_ITS_WAY);
  return true;
}

/* ---- Rounds, by the clock ---- */

/* Every other tick, so that what is purged has been free for a half of the delay at least. */
static bool begin_clearing(struct lm_middle *middle) {
  if (LM_OPTION(purge_delay_ms) == 0 || middle->ages || ++middle->tick_count % 2 != 0)
    return false;
  middle->ages = true;
  middle->age_round++;
  middle->age_run = 0;
  middle->age_next = middle->by_run[0].first;
  middle->flush_count = 0;
  return true;
}

static void release_some_cached(struct lm_heap *heap, size_t *effort) {
  struct lm_middle *middle = &heap->middle;
  while (middle->flush_count != 0 && middle->lengths != 0 && *effort != 0) {
    size_t cached_before = pages_cached(middle);
    release_cached(heap);
    middle->flush_count -= lm_min(middle->flush_count, cached_before - pages_cached(middle));
    lm_spend_effort(effort, RELEASE_EFFORT);
  }
}

/* The chunk whose turn it is; NULL at the end of the round. */
static struct lm_span *chunk_to_age(struct lm_middle *middle) {
  while (middle->age_next == NULL && middle->age_run < LM_CHUNK_RUN_MAX)
    middle->age_next = middle->by_run[++middle->age_run].first;
  return middle->age_next;
}

/* Ages the chunk, if that has not been done in this round; false if the effort did not do. */
static bool age(struct lm_heap *heap, struct lm_span *span, size_t *effort) {
  struct lm_middle *middle = &heap->middle;
  struct lm_chunk *chunk = lm_chunk_of_span(span);
  if (chunk->age_round == middle->age_round) return true;
  size_t dirty_before = lm_load_relaxed(&chunk->dirty_count), effort_before = *effort;
  bool aged = lm_refusals_last(&middle->round_refusals) || lm_chunk_age(span, effort);
  size_t dirty_count = lm_load_relaxed(&chunk->dirty_count);
  middle->dirty_count -= dirty_before - dirty_count;
  note_purged(&middle->round_refusals, dirty_before - dirty_count, effort_before - *effort);
  if (!aged) return false;
  chunk->age_round = middle->age_round;
  if (span->used_count == 0 && dirty_count == 0) give_empty_chunk(heap, span);
  return true;
}

void lm_middle_go_on(struct lm_heap *heap, size_t *effort) {
  struct lm_middle *middle = &heap->middle;
  if (LM_LIKELY(!middle->ages)) return;
  release_some_cached(heap, effort);
  while (*effort != 0) {
    struct lm_span *span = chunk_to_age(middle);
    if (span == NULL) {
      middle->ages = false;
      lm_refusals_end_round(&middle->round_refusals);
      return;
    }
    struct lm_span *next = span->next;
    if (!age(heap, span, effort)) return;
    middle->age_next = next;
    *effort -= 1; /* to pass a chunk costs, too */
  }
}

void lm_middle_tick(struct lm_heap *heap, uint64_t elapsed_ms) {
  struct lm_middle *middle = &heap->middle;
  size_t earned = pages_in(CREDIT_BYTES) * (size_t)lm_min((size_t)elapsed_ms, 1000) / 1000;
  middle->debt_count -= lm_min(middle->debt_count, earned);
  if (!begin_clearing(middle)) return;
  unlearn(middle);
  middle->flush_count = pages_cached(middle);
}
