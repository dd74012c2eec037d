#include "heap/watch.h"

#include "config/options.h"
#include "heap/bins.h"
#include "heap/holes.h"
#include "heap/inspect.h"
#include "heap/large_cache.h"
#include "heap/middle.h"
#include "heap/remote.h"
#include "heap/visit.h"

/* A heap that holds less, with what is free in its pool, does not watch, if it is the only one. */
#define WATCH_MIN_BYTES (512 * LM_KIB)
/* As long as so much is free that only the clock gives back, all bins are bounded once frees have
 * used up what follows. */
#define IDLE_MIN_BYTES (4 * LM_MIB)
/* Frees that may look at the clock: with the slow path that costs some 20 nanoseconds, so that all
 * of them take a ten-thousandth of the time. */
#define FREES_PER_MS 4
#define FREES_MAX 1024

static bool holds_much(const struct lm_heap *heap) {
  size_t slice_count = heap->slice_count + heap->spares.count;
  size_t page_count = heap->middle.used_count + heap->middle.dirty_count +
                      lm_large_cache_pages(heap);
  if ((slice_count << LM_SLICE_SHIFT) + (page_count << lm_os.page_shift) >= WATCH_MIN_BYTES)
    return true;
  /* Others write to it. */
  return lm_load_relaxed(&heap->pool->dirty_page_count) << lm_os.page_shift >= WATCH_MIN_BYTES;
}

size_t lm_watch_kept_bytes(const struct lm_heap *heap) {
  size_t page_count = heap->middle.dirty_count + lm_large_cache_pages(heap);
  return (heap->spares.count << LM_SLICE_SHIFT) + (page_count << lm_os.page_shift) +
         lm_holes_expected_bytes(&heap->holes);
}

/* Whether the heap, its pool, or those of threads that sleep, keep much that is free. */
static bool keeps_much(const struct lm_heap *heap) {
  size_t page_count = lm_middle_cached_count(heap) +
                      lm_load_relaxed(&heap->pool->dirty_page_count);
  return lm_watch_kept_bytes(heap) + (page_count << lm_os.page_shift) +
             lm_load_relaxed(&lm_visits_round.kept_bytes) >=
         IDLE_MIN_BYTES;
}

/* Whether there may be something that the clock brings back, of the heap's or of others'. */
static bool is_worth_a_look(const struct lm_heap *heap) {
  return holds_much(heap) || lm_load_relaxed(&lm_pool_thread_count) > 1 ||
         lm_load_relaxed(&lm_heaps_left_in_part) != 0;
}

static void set_watching(struct lm_heap *heap, bool watches) {
  watches |= LM_OPTION(fill) == LM_FILL_JUNK; /* so that each free sees the slow path */
  lm_store_relaxed(&heap->free_tag, watches ? LM_TAG_NO_HEAP : heap->tag);
}

void lm_watch_clock(struct lm_heap *heap, uint64_t now_ms) {
  struct lm_watch *watch = &heap->watch;
  if (watch->keeps_much && now_ms != watch->seen_ms)
    watch->keeps_much = keeps_much(heap);
  uint64_t elapsed_ms = lm_min(now_ms - watch->seen_ms, FREES_MAX / FREES_PER_MS);
  uint32_t free_count = watch->free_count + (uint32_t)elapsed_ms * FREES_PER_MS;
  watch->free_count = lm_max(1, lm_min(free_count, FREES_MAX));
  watch->seen_ms = now_ms;
  set_watching(heap, heap->close_looks != 0 || is_worth_a_look(heap));
}

static uint64_t look_at_clock(struct lm_heap *heap) {
  uint64_t elapsed_ms = lm_os_clock_ms() - heap->watch.seen_ms;
  if (elapsed_ms != 0) lm_heap_tick(heap);
  return elapsed_ms;
}

void lm_watch_closely(struct lm_heap *heap) {
  heap->close_looks = LM_INSPECT_FREES;
  set_watching(heap, true);
}

bool lm_watch_free(struct lm_heap *heap) {
  struct lm_watch *watch = &heap->watch;
  if (heap->close_looks != 0 && --heap->close_looks != 0 && !lm_remote_waits(heap) &&
      !is_worth_a_look(heap))
    return true;
  bool waits = lm_remote_waits(heap) && lm_remote_collect_some(heap);
  if (look_at_clock(heap) != 0 || waits) return true;
  if (lm_heap_ticks_left_any(heap)) {
    /* Now is as good as later. */
    lm_heap_tick(heap);
    return true;
  }
  if (watch->free_count > 1) {
    watch->free_count--;
    return true;
  }
  set_watching(heap, heap->close_looks != 0);
  if (!watch->keeps_much && keeps_much(heap)) {
    watch->keeps_much = true;
    lm_heap_drain_all(heap);
  }
  return false;
}

void lm_watch_call_all(void) {
  struct lm_heap *heap = lm_load_acquire(&lm_heaps_made);
  for (; heap != NULL; heap = heap->next_made)
    lm_store_relaxed(&heap->free_tag, LM_TAG_NO_HEAP);
}

void lm_watch_large(struct lm_heap *heap) {
  if (lm_watches(heap) || heap->watch.keeps_much) return;
  lm_heap_enter(heap);
  if (keeps_much(heap)) lm_heap_tick(heap);
  else if (is_worth_a_look(heap)) look_at_clock(heap);
  lm_heap_leave(heap);
}

void lm_watch_bin(struct lm_heap *heap) {
  if (heap->watch.keeps_much) look_at_clock(heap);
}

void lm_watch_full_bin(struct lm_heap *heap) {
  if (is_worth_a_look(heap)) look_at_clock(heap);
}

void lm_watch_malloc(struct lm_heap *heap) { look_at_clock(heap); }
