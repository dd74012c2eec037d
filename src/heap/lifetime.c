/* How a thread's heap begins, and what becomes of it when the thread ends. */
#include "heap/heap.h"

#include <string.h>

#include "config/options.h"
#include "heap/bins.h"
#include "heap/budget.h"
#include "heap/large_cache.h"
#include "heap/middle.h"
#include "heap/orphan.h"
#include "heap/remote.h"
#include "heap/span_life.h"
#include "heap/spares.h"
#include "heap/visit.h"
#include "os/panic.h"
#include "pages/meta.h"

struct lm_lock lm_heaps_lock = LM_LOCK_INIT(LM_RANK_HEAPS);
size_t lm_heap_made_count;
_Atomic(struct lm_heap *) lm_heaps_made;
LM_CACHE_ALIGNED _Atomic(size_t) lm_heaps_left_in_part; /* away from what is written often */
/* Heaps without a thread: kept as they were, the newest first, at the end those that have been left
 * in part; and without spans. */
static struct lm_heap *kept_heaps LM_GUARDED_BY(lm_heaps_lock);
static struct lm_heap *bare_heaps LM_GUARDED_BY(lm_heaps_lock);
static struct lm_heap *oldest_kept LM_GUARDED_BY(lm_heaps_lock); /* the last of kept_heaps */
static size_t kept_bytes LM_GUARDED_BY(lm_heaps_lock); /* of all kept heaps */
/* Heaps taken over since one was kept in vain. */
static size_t reuse_count LM_GUARDED_BY(lm_heaps_lock);

/* So many heaps more have a thread, or fewer. */
LM_REQUIRES(lm_heaps_lock) static void add_live(size_t count) {
  lm_store_relaxed(&lm_pool_thread_count, lm_load_relaxed(&lm_pool_thread_count) + count);
}
LM_REQUIRES(lm_heaps_lock) static void remove_live(size_t count) {
  lm_assert(count <= lm_load_relaxed(&lm_pool_thread_count));
  lm_store_relaxed(&lm_pool_thread_count, lm_load_relaxed(&lm_pool_thread_count) - count);
}

/* ---- A thread's begin and end ---- */

static struct lm_heap *make_heap(void) {
  struct lm_heap *heap = lm_meta_take_pages(sizeof *heap);
  if (heap == NULL) return NULL;
  lm_heap_empty_bins(heap);
  lm_middle_begin(heap);
  lm_store_relaxed(&heap->visits.entered, 1); /* until it has a thread */
  lm_lock_take(&lm_heaps_lock);
  uint32_t id = LM_OWNER_FIRST_HEAP + (uint32_t)lm_heap_made_count++;
  heap->tag = id << LM_TAG_OWNER_SHIFT;
  heap->pool = &lm_pools[id % lm_pool_count];
  heap->next_made = lm_load_relaxed(&lm_heaps_made);
  lm_store_release(&lm_heaps_made, heap);
  lm_lock_free(&lm_heaps_lock);
  return id < LM_OWNER_FIRST_SHARED ? heap : NULL;
}

LM_REQUIRES(lm_heaps_lock) static void set_left_in_part(struct lm_heap *heap, bool in_part) {
  size_t count = lm_load_relaxed(&lm_heaps_left_in_part);
  lm_store_relaxed(&lm_heaps_left_in_part, count + in_part - heap->kept.left_in_part);
  heap->kept.left_in_part = in_part;
}

/* The heap that was kept last, or NULL. */
LM_REQUIRES(lm_heaps_lock) static struct lm_heap *pop_kept(void) {
  struct lm_heap *heap = kept_heaps;
  if (heap == NULL) return NULL;
  kept_heaps = heap->kept.next;
  if (kept_heaps != NULL) kept_heaps->kept.newer = NULL;
  else oldest_kept = NULL;
  lm_assert(heap->kept.bytes != 0 && heap->kept.bytes <= kept_bytes);
  kept_bytes -= heap->kept.bytes;
  set_left_in_part(heap, false);
  return heap;
}

LM_REQUIRES(lm_heaps_lock) static struct lm_heap *pop_bare(void) {
  struct lm_heap *heap = bare_heaps;
  if (heap != NULL) bare_heaps = heap->kept.next;
  return heap;
}

/* A heap that another thread has left, or NULL. */
static struct lm_heap *reuse_heap(void) {
  lm_lock_take(&lm_heaps_lock);
  struct lm_heap *heap = pop_kept();
  if (heap == NULL) heap = pop_bare();
  if (heap != NULL) {
    reuse_count++;
    add_live(1);
  }
  lm_lock_free(&lm_heaps_lock);
  return heap;
}

/* For reports; a filter of system calls may not allow it. */
static uint32_t thread_id(void) {
  return LM_OPTION(system_calls) == LM_SYSTEM_CALLS_ALL ? lm_os_thread_id() : 0;
}

struct lm_heap *lm_heap_begin(void) {
  struct lm_heap *heap = reuse_heap();
  if (heap == NULL) {
    heap = make_heap();
    if (heap == NULL) return NULL;
    heap->holes.copy_number = lm_os_copy_number();
    lm_lock_take(&lm_heaps_lock);
    add_live(1);
    lm_lock_free(&lm_heaps_lock);
  }
  heap->tick.trim_class = LM_CLASS_COUNT;
  heap->tick.last_ms = heap->tick.bins_aged_ms = lm_os_clock_ms();
  lm_store_relaxed(&heap->free_tag, heap->tag);
  heap->watch = (struct lm_watch){.seen_ms = heap->tick.last_ms};
  heap->thread_id = thread_id();
  /* Opens the inbox, unless it has stayed open; pairs with the acquiring load of whoever sends
   * next. */
  if (heap->kept.bytes == 0) lm_store_release(&heap->inbox, NULL);
  heap->kept.bytes = 0;
  lm_store_relaxed(&heap->ticked_ms, (uint32_t)heap->tick.last_ms);
  lm_heap_leave(heap);
  return heap;
}

/* Gives back or orphans a span that is on no list and whose free blocks are all on free_list. */
static void leave_span(struct lm_span *span, size_t *effort) {
  if (span->used_count == 0) {
    lm_heap_spend_on_freed(effort, span->slice_count << (LM_SLICE_SHIFT - lm_os.page_shift));
    lm_span_end(span);
  } else {
    lm_spend_effort(effort, 1);
    lm_orphan_leave(span);
  }
}

/* Spans of a list of the heap's, as far as the effort does. False if there are more. */
static bool leave_list(struct lm_heap *heap, struct lm_span_list *list, size_t *effort) {
  while (list->first != NULL && *effort != 0) {
    struct lm_span *span = list->first;
    lm_span_list_remove(list, span);
    lm_heap_drop_span(heap, span);
    leave_span(span, effort);
  }
  return list->first == NULL;
}

static bool leave_class(struct lm_heap *heap, size_t class_index, size_t *effort) {
  struct lm_span *span = heap->current[class_index];
  if (span != NULL) {
    if (*effort == 0) return false;
    heap->current[class_index] = NULL;
    lm_heap_drop_span(heap, span);
    leave_span(span, effort);
  }
  return leave_list(heap, &heap->usable[class_index], effort) &&
         leave_list(heap, &heap->full[class_index], effort);
}

static bool leave_some_chunks(struct lm_heap *heap, size_t *effort) {
  while (*effort != 0) {
    struct lm_span *chunk = lm_middle_remove(heap);
    if (chunk == NULL) return true;
    leave_span(chunk, effort);
  }
  return false;
}

/* Gives cached large blocks and spares back, as far as the effort does. False if there are more. */
static bool release_kept(struct lm_heap *heap, size_t *effort) {
  if (!lm_large_cache_release(heap, effort)) return false;
  size_t held_before = lm_heap_held_pages(heap);
  bool all = lm_spares_release(heap, *effort >> (LM_SLICE_SHIFT - lm_os.page_shift));
  lm_heap_spend_on_freed(effort, held_before - lm_heap_held_pages(heap));
  return all;
}

/* Takes spans out of a heap, as far as the effort does; once all are, closes its inbox and returns
 * true. To leave a span or to release a cached block costs about as much as to purge a page. */
static bool leave_some_spans(struct lm_heap *heap, size_t *effort) {
  if (lm_remote_collect_within(heap, SIZE_MAX, effort)) return false;
  if (lm_bins_empty_within(heap, SIZE_MAX, effort)) return false;
  if (!release_kept(heap, effort)) return false;
  for (size_t i = 1; i < LM_CLASS_COUNT; i++)
    if (!leave_class(heap, i, effort)) return false;
  if (!lm_middle_release(heap, *effort) || !leave_some_chunks(heap, effort)) return false;
  memset(heap->borrowed_counts, 0, sizeof heap->borrowed_counts);
  lm_assert(heap->slice_count == 0 && heap->spares.count == 0 && heap->middle.used_count == 0);
  lm_remote_close(heap);
  return true;
}

/* ---- Heaps that are kept for the next thread ---- */

/* A program that makes threads all the time should find the spans of one in the next: what may be
 * kept in all doubles and doubles again as it does. */
#define KEPT_BYTES (256 * LM_KIB)
#define REUSES_PER_DOUBLING 16
#define KEPT_DOUBLINGS 5

LM_REQUIRES(lm_heaps_lock) static size_t kept_limit(void) {
  return KEPT_BYTES << lm_min(reuse_count / REUSES_PER_DOUBLING, KEPT_DOUBLINGS);
}

static void add_carved_bytes(const struct lm_span *first, size_t *bytes, size_t limit) {
  for (const struct lm_span *span = first; span != NULL && *bytes <= limit; span = span->next)
    *bytes += (size_t)span->extended_count * lm_classes[span->class_index].block_bytes;
}

/* How much memory the heap's spans have, used or not; no more than `limit` and one span. */
static size_t held_bytes(const struct lm_heap *heap, size_t limit) {
  /* Guests are cached, but not used. */
  size_t used = lm_max(heap->middle.used_count, lm_middle_cached_count(heap));
  size_t bytes = (used + heap->middle.dirty_count) << lm_os.page_shift;
  for (size_t i = 1; i < LM_CLASS_COUNT && bytes <= limit; i++) {
    add_carved_bytes(heap->current[i], &bytes, limit);
    add_carved_bytes(heap->usable[i].first, &bytes, limit);
    add_carved_bytes(heap->full[i].first, &bytes, limit);
  }
  return bytes;
}

/* Keeps a heap as it is, if there is room for it among those that are kept. */
static bool keep_heap(struct lm_heap *heap) {
  if (LM_OPTION(purge_delay_ms) == 0 || lm_pressed(LM_PRESSURE_SOME)) return false;
  size_t bytes = 1 + held_bytes(heap, KEPT_BYTES << KEPT_DOUBLINGS);
  uint64_t now_ms = lm_os_clock_ms();
  lm_lock_take(&lm_heaps_lock);
  bool room = kept_bytes + bytes <= lm_min(kept_limit(), LM_OPTION(cache_bytes));
  if (room) {
    kept_bytes += bytes;
    heap->kept.bytes = bytes;
    heap->kept.since_ms = now_ms;
    heap->kept.next = kept_heaps;
    heap->kept.newer = NULL;
    if (kept_heaps != NULL) kept_heaps->kept.newer = heap;
    else oldest_kept = heap;
    kept_heaps = heap;
    remove_live(1);
  }
  lm_lock_free(&lm_heaps_lock);
  return room;
}

static void push_bare_heap(struct lm_heap *heap, size_t live_count) {
  lm_lock_take(&lm_heaps_lock);
  heap->kept.next = bare_heaps;
  bare_heaps = heap;
  set_left_in_part(heap, false);
  remove_live(live_count);
  lm_lock_free(&lm_heaps_lock);
}

/* There is more to leave: who ends the kept heap that has waited longest goes on with it, or the
 * next thread has what is left. */
static void keep_rest(struct lm_heap *heap, size_t live_count) {
  lm_lock_take(&lm_heaps_lock);
  heap->kept.bytes = 1; /* its inbox is open */
  kept_bytes += heap->kept.bytes;
  set_left_in_part(heap, true);
  heap->kept.next = NULL;
  heap->kept.newer = oldest_kept;
  if (oldest_kept != NULL) oldest_kept->kept.next = heap;
  else kept_heaps = heap;
  oldest_kept = heap;
  remove_live(live_count);
  lm_lock_free(&lm_heaps_lock);
}

static void leave_some(struct lm_heap *heap, size_t live_count, size_t *effort) {
  if (leave_some_spans(heap, effort)) push_bare_heap(heap, live_count);
  else keep_rest(heap, live_count);
}

void lm_heap_end(struct lm_heap *heap) {
  lm_heap_enter(heap); /* and does not leave it: nobody has it until the next thread does */
  heap->thread_id = 0;
  lm_heap_flush_guests(heap);
  lm_remote_flush(heap);
  size_t effort = lm_purge_effort();
  lm_large_cache_retire(heap);
  bool all = !lm_remote_collect_within(heap, SIZE_MAX, &effort) && release_kept(heap, &effort);
  lm_spares_forget(heap);
  lm_middle_forget(heap);
  lm_budget_end(heap);
  if (all && keep_heap(heap)) return;
  leave_some(heap, 1, &effort);
  lm_pool_tick(lm_os_clock_ms(), &effort);
}

/* In a process copied by the system call alone the visitor is gone, and what it was changing stays
 * half changed, as what was under locks does. */
static void end_visit_of_parent(struct lm_visits *visits) {
  if (lm_load_relaxed(&visits->parked) < LM_VISITED) return;
  visits->underway = false;
  lm_store_relaxed(&visits->parked, LM_NOT_PARKED);
}

void lm_heap_after_fork(struct lm_heap *heap) {
  if (!lm_heap_is_empty(heap)) {
    heap->thread_id = thread_id();
    end_visit_of_parent(&heap->visits);
  }
  lm_store_relaxed(&lm_pool_thread_count, lm_heap_is_empty(heap) ? 0 : 1);
  lm_store_relaxed(&lm_budget_kept_bytes, heap->reported_bytes);
}

/* The heap that has been kept longest, if it has been for `age_ms`, or what is left of one. */
static struct lm_heap *take_oldest_kept(uint64_t age_ms) {
  uint64_t now_ms = lm_os_clock_ms();
  lm_lock_take(&lm_heaps_lock);
  struct lm_heap *heap = oldest_kept;
  bool whole = heap != NULL && !heap->kept.left_in_part;
  if (whole && now_ms < heap->kept.since_ms + age_ms) heap = NULL;
  if (heap != NULL) {
    oldest_kept = heap->kept.newer;
    if (oldest_kept != NULL) oldest_kept->kept.next = NULL;
    else kept_heaps = NULL;
    lm_assert(heap->kept.bytes != 0 && heap->kept.bytes <= kept_bytes);
    kept_bytes -= heap->kept.bytes;
    if (whole) reuse_count = 0;
    heap->kept.bytes = 0;
  }
  lm_lock_free(&lm_heaps_lock);
  return heap;
}

bool lm_heap_end_oldest_kept(uint64_t age_ms) {
  struct lm_heap *heap = take_oldest_kept(age_ms);
  if (heap == NULL) return false;
  size_t effort = lm_purge_effort();
  leave_some(heap, 0, &effort);
  return true;
}
