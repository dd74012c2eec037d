#include "heap/shared.h"

#include <string.h>

#include "heap/inspect.h"
#include "heap/middle.h"
#include "heap/span_life.h"
#include "heap/spares.h"
#include "pages/meta.h"

struct lm_lock lm_shared_heaps_lock = LM_LOCK_INIT(LM_RANK_SHARED_HEAPS);
_Atomic(struct loam_heap *) lm_shared_heaps;
static struct loam_heap *unused_heaps LM_GUARDED_BY(lm_shared_heaps_lock);
static uint32_t heap_count LM_GUARDED_BY(lm_shared_heaps_lock);

/* ---- Begin and end ---- */

static void reset(struct lm_heap *heap, uint32_t tag, struct lm_pool *pool) {
  memset(heap, 0, sizeof *heap);
  heap->tag = tag;
  heap->pool = pool;
  heap->tick.trim_class = LM_CLASS_COUNT;
  heap->tick.last_ms = heap->tick.bins_aged_ms = lm_os_clock_ms();
  lm_heap_empty_bins(heap);
  lm_middle_begin(heap);
}

static struct loam_heap *pop_unused(void) {
  lm_lock_take(&lm_shared_heaps_lock);
  struct loam_heap *shared = unused_heaps;
  if (shared != NULL) unused_heaps = shared->next_unused;
  lm_lock_free(&lm_shared_heaps_lock);
  return shared;
}

static struct lm_pool *ordinary_pool(const struct lm_heap *heap) {
  return &lm_pools[(heap->tag >> LM_TAG_OWNER_SHIFT) % lm_pool_count];
}

static struct loam_heap *make_shared(void) {
  struct loam_heap *shared = lm_meta_take(sizeof *shared);
  if (shared == NULL) return NULL;
  lm_lock_take(&lm_shared_heaps_lock);
  uint32_t id = LM_OWNER_FIRST_SHARED + heap_count;
  bool room = id < LM_OWNER_LIMIT;
  if (room) {
    heap_count++;
    shared->lock.rank = LM_RANK_SHARED_HEAP;
    reset(&shared->heap, id << LM_TAG_OWNER_SHIFT, NULL);
    shared->heap.pool = ordinary_pool(&shared->heap);
    shared->next = lm_load_relaxed(&lm_shared_heaps);
    lm_store_release(&lm_shared_heaps, shared);
  }
  lm_lock_free(&lm_shared_heaps_lock);
  return room ? shared : NULL;
}

static bool has_own_pool(const struct loam_heap *shared) {
  return shared->own_pool.lock.rank != 0;
}

static void use_provider(struct loam_heap *shared, const struct loam_page_provider *provider) {
  lm_lock_take(&lm_shared_heaps_lock);
  if (!has_own_pool(shared)) lm_pool_add(&shared->own_pool);
  lm_lock_free(&lm_shared_heaps_lock);
  shared->provider = *provider;
  lm_pool_provide(&shared->own_pool, &shared->provider);
  shared->heap.pool = &shared->own_pool;
}

struct loam_heap *lm_shared_begin(const struct loam_page_provider *provider) {
  struct loam_heap *shared = pop_unused();
  if (shared == NULL) shared = make_shared();
  if (shared == NULL) return NULL;
  if (provider != NULL) use_provider(shared, provider);
  lm_lock_take(&shared->lock);
  shared->live = true;
  lm_lock_free(&shared->lock);
  return shared;
}

void lm_shared_end(struct loam_heap *shared) {
  if (shared->heap.pool == &shared->own_pool) {
    lm_pool_release(&shared->own_pool);
    shared->heap.pool = ordinary_pool(&shared->heap);
  }
  lm_lock_take(&lm_shared_heaps_lock);
  shared->next_unused = unused_heaps;
  unused_heaps = shared;
  lm_lock_free(&lm_shared_heaps_lock);
}

void lm_shared_for_each_lock(void (*visit)(struct lm_lock *lock)) {
  struct loam_heap *all = lm_load_relaxed(&lm_shared_heaps);
  for (struct loam_heap *shared = all; shared != NULL; shared = shared->next)
    visit(&shared->lock);
  for (struct loam_heap *shared = all; shared != NULL; shared = shared->next)
    if (has_own_pool(shared)) visit(&shared->own_pool.lock);
}

/* ---- One block ---- */

struct loam_heap *lm_shared_of(const void *block) {
  return (struct loam_heap *)lm_load_relaxed(&lm_span_of(block)->owner);
}

bool lm_shared_free(void *address, void *caller) {
  struct lm_block *block = address;
  struct lm_span *span = lm_span_of(block);
  struct loam_heap *shared = lm_shared_of(block);
  bool done = true;
  lm_lock_take(&shared->lock);
  if (span->class_index == LM_CLASS_MIDDLE) {
    done = lm_middle_give(&shared->heap, block);
  } else {
    lm_inspect_given_own(span, span->class_index, block, span->free_list, caller);
    if (lm_heap_put_back(&shared->heap, span, block, block, 1)) lm_heap_tick(&shared->heap);
  }
  lm_lock_free(&shared->lock);
  return done;
}

/* ---- All blocks ---- */

typedef void span_visitor(struct lm_heap *heap, struct lm_span *span, void *context);

/* `visit` may end the span. */
static void visit_list(struct lm_heap *heap, const struct lm_span_list *list, span_visitor *visit,
                       void *context) {
  for (struct lm_span *span = list->first, *next; span != NULL; span = next) {
    next = span->next;
    visit(heap, span, context);
  }
}

static void for_each_span(struct lm_heap *heap, span_visitor *visit, void *context) {
  for (size_t i = 1; i < LM_CLASS_COUNT; i++) {
    if (heap->current[i] != NULL) visit(heap, heap->current[i], context);
    visit_list(heap, &heap->usable[i], visit, context);
    visit_list(heap, &heap->full[i], visit, context);
  }
  for (size_t run = 0; run <= LM_CHUNK_RUN_MAX; run++)
    visit_list(heap, &heap->middle.by_run[run], visit, context);
}

static bool is_chunk(const struct lm_span *span) { return span->class_index == LM_CLASS_MIDDLE; }

/* The block of a chunk that begins at `page` or behind it; NULL if none does. */
static char *next_in_chunk(const struct lm_span *span, size_t page) {
  for (; page < lm_chunk_pages(); page++) {
    char *block = lm_span_start(span) + (page << lm_os.page_shift);
    if (lm_region_block_pages(block) != 0) return block;
  }
  return NULL;
}

static size_t page_behind(const struct lm_span *span, const char *block) {
  return ((size_t)(block - lm_span_start(span)) >> lm_os.page_shift) +
         lm_region_block_pages(block);
}

static void give_span(struct lm_heap *heap, struct lm_span *span, void *unused) {
  (void)heap;
  (void)unused;
  if (is_chunk(span)) {
    size_t page = 0;
    for (char *block; (block = next_in_chunk(span, page)) != NULL;) {
      page = page_behind(span, block);
      lm_chunk_give(span, block);
    }
  }
  lm_span_end(span);
}

void lm_shared_give_all(struct loam_heap *shared) {
  struct lm_heap *heap = &shared->heap;
  lm_spares_trim(heap);
  for_each_span(heap, give_span, NULL);
  reset(heap, heap->tag, heap->pool);
}

struct block_visit {
  lm_block_visitor *visit;
  void *context;
};

static void visit_chunk(struct lm_span *span, const struct block_visit *blocks) {
  size_t page = 0;
  for (char *block; (block = next_in_chunk(span, page)) != NULL;) {
    page = page_behind(span, block);
    size_t bytes = lm_region_block_pages(block) << lm_os.page_shift;
    blocks->visit(blocks->context, block, bytes, lm_region_live_pages(block) != 0);
  }
}

static void mark_free(uint64_t *is_free, const struct lm_block *block, const char *start,
                      size_t block_bytes) {
  for (; lm_is_block(block); block = lm_block_next(block)) {
    size_t index = (size_t)((const char *)block - start) / block_bytes;
    lm_bitmap_set(is_free, index, index + 1);
  }
}

static void visit_span(struct lm_heap *heap, struct lm_span *span, void *context) {
  const struct block_visit *blocks = context;
  uint64_t is_free[LM_BITMAP_WORDS(LM_SPAN_BLOCKS_MAX)] = {0};
  if (is_chunk(span)) {
    visit_chunk(span, blocks);
    return;
  }
  char *start = lm_span_start(span);
  size_t bytes = lm_classes[span->class_index].block_bytes;
  mark_free(is_free, span->free_list, start, bytes);
  /* No free of a first-class heap's goes onto a bin, so that it and its reserve have the current
   * span's only. */
  if (span->state == LM_SPAN_CURRENT) {
    const struct lm_block *reserve = heap->reserves[span->class_index];
    mark_free(is_free, heap->bins[span->class_index], start, bytes);
    if (reserve != NULL) mark_free(is_free, reserve, start, bytes);
  }
  for (size_t i = 0; i < span->extended_count; i++)
    blocks->visit(blocks->context, start + i * bytes, bytes, !lm_bitmap_test(is_free, i));
}

void lm_shared_visit(struct loam_heap *shared, lm_block_visitor *visit, void *context) {
  struct block_visit blocks = {visit, context};
  for_each_span(&shared->heap, visit_span, &blocks);
}
