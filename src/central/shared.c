#include "central/shared.h"

#include <string.h>

#include "central/put.h"
#include "central/span_life.h"
#include "central/take.h"
#include "os/panic.h"
#include "pages/meta.h"
#include "pages/pool_take.h"

struct lm_lock lm_shared_heaps_lock = LM_LOCK_INIT(LM_RANK_SHARED_HEAPS);
_Atomic(struct loam_heap *) lm_shared_heaps;
static struct loam_heap *unused_heaps LM_GUARDED_BY(lm_shared_heaps_lock);
static uint32_t heap_count LM_GUARDED_BY(lm_shared_heaps_lock);

/* ---- Begin and end ---- */

static struct loam_heap *pop_unused(void) {
  lm_lock_take(&lm_shared_heaps_lock);
  struct loam_heap *shared = unused_heaps;
  if (shared != NULL) unused_heaps = shared->next_unused;
  lm_lock_free(&lm_shared_heaps_lock);
  return shared;
}

static struct loam_heap *make_shared(void) {
  struct loam_heap *shared = lm_meta_take(sizeof *shared);
  if (shared == NULL) return NULL;
  lm_lock_take(&lm_shared_heaps_lock);
  struct lm_pool *pool = &lm_pools[heap_count++ % lm_pool_count];
  lm_central_init(&shared->central, 0, LM_RANK_SHARED_HEAP, LM_TAG_FIRST_CLASS, pool);
  shared->next = lm_load_relaxed(&lm_shared_heaps);
  lm_store_release(&lm_shared_heaps, shared);
  lm_lock_free(&lm_shared_heaps_lock);
  return shared;
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
  shared->central.pool = &shared->own_pool;
}

struct loam_heap *lm_shared_begin(const struct loam_page_provider *provider) {
  struct loam_heap *shared = pop_unused();
  if (shared == NULL) shared = make_shared();
  if (shared == NULL) return NULL;
  lm_assert(!shared->live && shared->owned == NULL);
  if (provider != NULL) use_provider(shared, provider);
  lm_lock_take(&shared->central.lock);
  shared->live = true;
  lm_lock_free(&shared->central.lock);
  return shared;
}

void lm_shared_end(struct loam_heap *shared) {
  lm_assert(!shared->live && shared->owned == NULL);
  if (shared->central.pool == &shared->own_pool) {
    lm_pool_release(&shared->own_pool);
    shared->central.pool = &lm_pools[0];
  }
  lm_lock_take(&lm_shared_heaps_lock);
  shared->next_unused = unused_heaps;
  unused_heaps = shared;
  lm_lock_free(&lm_shared_heaps_lock);
}

void lm_shared_for_each_lock(void (*visit)(struct lm_lock *lock)) {
  struct loam_heap *all = lm_load_relaxed(&lm_shared_heaps);
  for (struct loam_heap *shared = all; shared != NULL; shared = shared->next)
    visit(&shared->central.lock);
  for (struct loam_heap *shared = all; shared != NULL; shared = shared->next)
    if (has_own_pool(shared)) visit(&shared->own_pool.lock);
}

/* ---- One block ---- */

_Static_assert(offsetof(struct loam_heap, central) == 0, "a span's central is its heap");
struct loam_heap *lm_shared_of(const void *block) {
  struct lm_central *central = lm_span_of(block)->central;
  lm_assert(central->tag_bits == LM_TAG_FIRST_CLASS);
  return (struct loam_heap *)central;
}

void lm_shared_free(void *address, void *caller) {
  lm_central_put(address, caller);
}

/* ---- All blocks ---- */

typedef void span_visitor(struct lm_span *span, void *context);

/* `visit` may end the span. */
static void visit_list(const struct lm_span_list *list, span_visitor *visit, void *context) {
  for (struct lm_span *span = list->first, *next; span != NULL; span = next) {
    next = span->next;
    visit(span, context);
  }
}

static void for_each_span(struct loam_heap *shared, span_visitor *visit, void *context) {
  for (size_t i = 1; i < LM_CLASS_COUNT; i++) {
    const struct lm_central_class *class = &shared->central.classes[i];
    visit_list(&class->usable, visit, context);
    visit_list(&class->roomy, visit, context);
    visit_list(&class->full, visit, context);
  }
}

static void end_span(struct lm_span *span, void *unused) {
  (void)unused;
  lm_span_end(span);
}

void lm_shared_give_all(struct loam_heap *shared) {
  for_each_span(shared, end_span, NULL);
  memset(shared->central.classes, 0, sizeof shared->central.classes);
}

struct block_visit {
  lm_block_visitor *visit;
  void *context;
};

static void visit_span(struct lm_span *span, void *context) {
  const struct block_visit *blocks = context;
  lm_block_set is_free = {0};
  char *start = lm_span_start(span);
  size_t bytes = lm_classes[span->class_index].block_bytes;
  lm_span_mark_listed(span, span->free_list, is_free);
  for (size_t i = 0; i < span->extended_count; i++)
    blocks->visit(blocks->context, start + i * bytes, bytes, !lm_bitmap_test(is_free, i));
}

void lm_shared_visit(struct loam_heap *shared, lm_block_visitor *visit, void *context) {
  struct block_visit blocks = {visit, context};
  for_each_span(shared, visit_span, &blocks);
}
