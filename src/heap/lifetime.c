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
#include "heap/span.h"
#include "heap/spares.h"
#include "heap/visit.h"
#include "pages/meta.h"

struct lm_lock lm_heaps_lock = LM_LOCK_INIT(LM_RANK_HEAPS);
size_t lm_heap_made_count;
_Atomic(struct lm_heap *) lm_heaps_made;
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

/* The heap that was kept last, or NULL. */
LM_REQUIRES(lm_heaps_lock) static struct lm_heap *pop_kept(void) {
  struct lm_heap *heap = kept_heaps;
  if (heap == NULL) return NULL;
  kept_heaps = heap->next;
  if (kept_heaps != NULL) kept_heaps->newer = NULL;
  else oldest_kept = NULL;
  kept_bytes -= heap->kept_bytes;
  return heap;
}

LM_REQUIRES(lm_heaps_lock) static struct lm_heap *pop_bare(void) {
  struct lm_heap *heap = bare_heaps;
  if (heap != NULL) bare_heaps = heap->next;
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

struct lm_heap *lm_heap_begin(void) {
  struct lm_heap *heap = reuse_heap();
  if (heap == NULL) {
    heap = make_heap();
    if (heap == NULL) return NULL;
    lm_lock_take(&lm_heaps_lock);
    add_live(1);
    lm_lock_free(&lm_heaps_lock);
  }
  heap->trim_class = LM_CLASS_COUNT;
  heap->tick_ms = heap->bins_aged_ms = lm_os_clock_ms();
  lm_store_relaxed(&heap->free_tag, heap->tag);
  heap->watch = (struct lm_watch){.seen_ms = heap->tick_ms};
  heap->thread_id = lm_os_thread_id();
  /* Opens the inbox, unless it has stayed open; pairs with the acquiring load of whoever sends
   * next. */
  if (heap->kept_bytes == 0) lm_store_release(&heap->inbox, NULL);
  heap->kept_bytes = 0;
  lm_store_relaxed(&heap->ticked_ms, (uint32_t)heap->tick_ms);
  lm_heap_leave(heap);
  return heap;
}

/* Gives back or orphans a span that is on no list and whose free blocks are all on free_list. */
static void leave_span(struct lm_span *span) {
  if (span->used_count == 0) lm_span_end(span);
  else lm_orphan_leave(span);
}

/* One call leaves so many spans, or releases so many cached blocks: 100 to 200 nanoseconds each. */
#define LEFT_AT_ONCE 256
#define RELEASED_AT_ONCE 512

/* Up to `*left` spans of a list of the heap's. False if there are more. */
static bool leave_list(struct lm_heap *heap, struct lm_span_list *list, size_t *left) {
  for (; list->first != NULL && *left != 0; *left -= 1) {
    struct lm_span *span = list->first;
    lm_span_list_remove(list, span);
    lm_heap_drop_span(heap, span);
    leave_span(span);
  }
  return list->first == NULL;
}

/* All that is free in bins goes back at once, and the class's current span with it. */
static void empty_bin(struct lm_heap *heap, size_t class_index) {
  lm_heap_flush_bin(heap, class_index);
  struct lm_span *span = heap->current[class_index];
  if (span == NULL) return;
  heap->current[class_index] = NULL;
  lm_heap_drop_span(heap, span);
  leave_span(span);
}

static bool leave_some_chunks(struct lm_heap *heap, size_t *left) {
  if (!lm_middle_release(heap, RELEASED_AT_ONCE)) return false;
  for (; *left != 0; *left -= 1) {
    struct lm_span *chunk = lm_middle_remove(heap);
    if (chunk == NULL) return true;
    leave_span(chunk);
  }
  return false;
}

/* Takes spans out of a heap, as many as one call may; once all are, closes its inbox and returns
 * true. */
static bool leave_some_spans(struct lm_heap *heap) {
  size_t left = LEFT_AT_ONCE;
  lm_remote_collect(heap);
  for (size_t i = 1; i < LM_CLASS_COUNT; i++) empty_bin(heap, i);
  lm_spares_trim(heap);
  for (size_t i = 1; i < LM_CLASS_COUNT; i++)
    if (!leave_list(heap, &heap->usable[i], &left) || !leave_list(heap, &heap->full[i], &left))
      return false;
  if (!leave_some_chunks(heap, &left)) return false;
  memset(heap->borrowed_counts, 0, sizeof heap->borrowed_counts);
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

static size_t carved_bytes(const struct lm_span *first) {
  size_t bytes = 0;
  for (const struct lm_span *span = first; span != NULL; span = span->next)
    bytes += (size_t)span->extended_count * lm_classes[span->class_index].block_bytes;
  return bytes;
}

/* How much memory the heap's spans have, used or not; no more than `limit` and one class. */
static size_t held_bytes(const struct lm_heap *heap, size_t limit) {
  size_t pages = heap->middle.used_count + heap->middle.dirty_count;
  size_t bytes = pages << lm_os.page_shift;
  for (size_t i = 1; i < LM_CLASS_COUNT && bytes <= limit; i++) {
    bytes += carved_bytes(heap->current[i]);
    bytes += carved_bytes(heap->usable[i].first) + carved_bytes(heap->full[i].first);
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
    heap->kept_bytes = bytes;
    heap->kept_ms = now_ms;
    heap->next = kept_heaps;
    heap->newer = NULL;
    if (kept_heaps != NULL) kept_heaps->newer = heap;
    else oldest_kept = heap;
    kept_heaps = heap;
    remove_live(1);
  }
  lm_lock_free(&lm_heaps_lock);
  return room;
}

static void push_bare_heap(struct lm_heap *heap, size_t live_count) {
  lm_lock_take(&lm_heaps_lock);
  heap->next = bare_heaps;
  bare_heaps = heap;
  remove_live(live_count);
  lm_lock_free(&lm_heaps_lock);
}

/* There is more to leave: who ends the kept heap that has waited longest goes on with it, or the
 * next thread has what is left. */
static void keep_rest(struct lm_heap *heap, size_t live_count) {
  lm_lock_take(&lm_heaps_lock);
  heap->kept_bytes = 1; /* its inbox is open */
  kept_bytes += heap->kept_bytes;
  heap->kept_ms = 0; /* not whole */
  heap->next = NULL;
  heap->newer = oldest_kept;
  if (oldest_kept != NULL) oldest_kept->next = heap;
  else kept_heaps = heap;
  oldest_kept = heap;
  remove_live(live_count);
  lm_lock_free(&lm_heaps_lock);
}

static void leave_some(struct lm_heap *heap, size_t live_count) {
  if (leave_some_spans(heap)) push_bare_heap(heap, live_count);
  else keep_rest(heap, live_count);
}

void lm_heap_end(struct lm_heap *heap) {
  lm_heap_enter(heap); /* and does not leave it: nobody has it until the next thread does */
  heap->thread_id = 0;
  lm_heap_flush_guests(heap);
  lm_remote_flush(heap);
  lm_remote_collect(heap);
  lm_spares_trim(heap);
  lm_middle_forget(heap);
  lm_large_cache_trim(heap);
  lm_budget_end(heap);
  if (keep_heap(heap)) return;
  leave_some(heap, 1);
  size_t effort = lm_purge_effort();
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
    heap->thread_id = lm_os_thread_id();
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
  bool whole = heap != NULL && heap->kept_ms != 0;
  if (whole && now_ms < heap->kept_ms + age_ms) heap = NULL;
  if (heap != NULL) {
    oldest_kept = heap->newer;
    if (oldest_kept != NULL) oldest_kept->next = NULL;
    else kept_heaps = NULL;
    kept_bytes -= heap->kept_bytes;
    if (whole) reuse_count = 0;
    heap->kept_bytes = 0;
  }
  lm_lock_free(&lm_heaps_lock);
  return heap;
}

bool lm_heap_end_oldest_kept(uint64_t age_ms) {
  struct lm_heap *heap = take_oldest_kept(age_ms);
  if (heap == NULL) return false;
  leave_some(heap, 0);
  return true;
}
